#include "conf.h"

#include "support.h"

#include <criterion/criterion.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LITERAL "whsec_literal"

/* A folder of the test's own, and the configuration within it. */
static char dir[] = "/tmp/hookonce-test-XXXXXX";
static char path[64];
static const struct conf_lookup nothing = {NULL, NULL};

/* The user's home for conf_find, NULL: as the system says. */
static char *home;

struct passwd *getpwuid(uid_t uid)
{
    static struct passwd user;
    static char text[4096];
    struct passwd *found = NULL;

    if (getpwuid_r(uid, &user, text, sizeof(text), &found) != 0)
        return NULL;
    if (found != NULL && home != NULL)
        found->pw_dir = home;
    return found;
}

/* Writes DIR/NAME. */
static void put(const char *name, const void *bytes, size_t len, mode_t mode)
{
    char whole[128];
    FILE *file;

    snprintf(whole, sizeof(whole), "%s/%s", dir, name);
    file = fopen(whole, "wb");
    cr_assert_not_null(file, "%s", whole);
    cr_assert_eq(fwrite(bytes, 1, len, file), len, "%s", whole);
    cr_assert_eq(fclose(file), 0, "%s", whole);
    cr_assert_eq(chmod(whole, mode), 0, "%s", whole);
}

static void put_text(const char *name, const char *text, mode_t mode)
{
    put(name, text, strlen(text), mode);
}

static const char *const files[] = {"good",  "group",         "open",          "empty",
                                    "blank", "two",           "prefix",        "long",
                                    "nul",   "hookonce.conf", ".hookonce.conf"};

static void make_dir(void)
{
    static char bytes[4200];

    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/hookonce.conf", dir);
    put_text("good", "whsec_file\r\n\n", 0600);
    put_text("group", "whsec_group\n", 0640);
    put_text("open", "whsec_open\n", 0644);
    put_text("empty", "", 0600);
    put_text("blank", " \n\n", 0600);
    put_text("two", "whsec_one\nwhsec_two\n", 0600);
    put_text("prefix", "v1,whsec_x\n", 0600);
    memset(bytes, 'k', sizeof(bytes));
    put("long", bytes, sizeof(bytes), 0600);
    put("nul", "w\0hsec_x\n", 9, 0600);
    unsetenv("HOOKONCE_CONF");
    unsetenv("DATABASE_URL");
    unsetenv("STRIPE_WEBHOOK_SECRET");
}

static void remove_dir(void)
{
    char whole[128];

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(whole, sizeof(whole), "%s/%s", dir, files[i]);
        unlink(whole);
    }
    rmdir(dir);
}

TestSuite(conf, .init = make_dir, .fini = remove_dir);

/* The text with each DIR as the folder; the caller frees it. */
static char *with_dir(const char *text)
{
    char *out = malloc(strlen(text) * sizeof(dir) + 1), *to = out;

    cr_assert_not_null(out);
    while (*text != '\0') {
        if (strncmp(text, "DIR", 3) == 0) {
            to = stpcpy(to, dir);
            text += 3;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
    return out;
}

static enum status load_mode(const char *text, mode_t mode, struct conf **conf,
                             char error[CONF_ERROR_MAX])
{
    char *whole = with_dir(text);

    put_text("hookonce.conf", whole, mode);
    free(whole);
    return conf_load(path, &nothing, conf, error);
}

/* A configuration that must be good; the caller frees it. */
static struct conf *load(const char *text)
{
    char error[CONF_ERROR_MAX] = "";
    struct conf *conf = NULL;
    enum status status = load_mode(text, 0600, &conf, error);

    cr_assert_eq(status, ST_OK, "%s\n%s", text, error);
    cr_assert_not_null(conf, "%s", text);
    return conf;
}

#define GLOBAL   "database = postgresql:///billing\n"
#define ENDPOINT "[endpoint a]\npath = /a\nprovider = stripe\n"
#define GOOD     GLOBAL ENDPOINT "secret = " LITERAL "\n"

/* Guards what stands in a file, and what stands in none. */
Test(conf, good_file)
{
    struct conf *conf = load("# a comment\n; another\n\n" GOOD "[endpoint b]\n"
                             "path = /hooks/b/\nprovider = stripe\nsecret = file:DIR/good\n"
                             "secret = x\nmode = sync\ntolerance = 60\nmax_body = 2M\n"
                             "livemode = true\naccount = acct_1\n");
    const struct conf_endpoint *a = &conf->endpoints[0], *b = &conf->endpoints[1];

    cr_assert_eq(conf->count, 2);
    cr_expect_str_eq(conf->source, path);
    cr_expect_str_eq(conf->database, "postgresql:///billing");
    cr_expect_not(conf->healthz);
    cr_expect_str_eq(a->name, "a");
    cr_expect_str_eq(a->path, "/a");
    cr_expect_str_eq(a->policy.scheme->provider, "stripe");
    cr_expect_eq(a->policy.tolerance, 300);
    cr_expect_eq(a->max_body, 1u << 20);
    cr_expect_eq(a->livemode, -1);
    cr_expect_str_eq(a->account, "none");
    cr_assert_eq(a->policy.secrets.count, 1);
    cr_expect_eq(a->policy.secrets.of[0].len, strlen(LITERAL));
    cr_expect_eq(memcmp(a->policy.secrets.of[0].text, LITERAL, strlen(LITERAL)), 0);
    cr_expect_eq(b->policy.tolerance, 60);
    cr_expect_eq(b->max_body, 2u << 20);
    cr_expect_eq(b->livemode, 1);
    cr_expect_str_eq(b->account, "acct_1");
    cr_assert_eq(b->policy.secrets.count, 2);
    cr_expect_eq(b->policy.secrets.of[0].len, strlen("whsec_file"));
    cr_expect_eq(memcmp(b->policy.secrets.of[0].text, "whsec_file", 10), 0);
    cr_expect_eq((int)b->policy.secrets.of[1].text[0], 'x');
    conf_free(conf);
}

/* A mistake: the line it is told with (0: none), and words of what is said. */
struct mistake {
    const char *name, *text;
    int line;
    const char *says, *remedy;
};

static void expect_mistake(const struct mistake *m, mode_t mode)
{
    char error[CONF_ERROR_MAX] = "", where[128];
    struct conf *conf = NULL;
    enum status got = load_mode(m->text, mode, &conf, error);

    cr_expect_eq(got, ST_CONF, "%s: %s", m->name, status_word(got));
    cr_expect_null(conf, "%s", m->name);
    if (got == ST_OK) {
        conf_free(conf);
        return;
    }
    if (m->line > 0)
        snprintf(where, sizeof(where), "%s:%d: ", path, m->line);
    else
        snprintf(where, sizeof(where), "%s: ", path);
    cr_expect_eq(strncmp(error, where, strlen(where)), 0, "%s, not at %s%s", m->name, where, error);
    cr_expect_not_null(strstr(error, m->says), "%s: %s", m->name, error);
    cr_expect_not_null(strstr(error, m->remedy), "%s, no remedy: %s", m->name, error);
    cr_expect_null(strchr(error, '\n'), "%s: %s", m->name, error);
    cr_expect_null(strstr(error, LITERAL), "%s, a secret is told: %s", m->name, error);
}

static void expect_mistakes(const struct mistake *mistakes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_mistake(&mistakes[i], 0600);
}

/* Guards that a mistake in the file's form is told with file, line and what to do. */
Test(conf, mistakes_of_form)
{
    static const struct mistake mistakes[] = {
        {"unknown key", GOOD "colour = red\n", 6, "unknown key \"colour\"",
         "path, provider, secret, mode"},
        {"unknown global key", "colour = red\n" GOOD, 1, "unknown key \"colour\"",
         "database, healthz"},
        {"a global key in a section", GOOD "healthz = on\n", 6, "unknown key \"healthz\"",
         "known here"},
        {"a section's key outside", "path = /a\n" GOOD, 1, "unknown key \"path\"", "known here"},
        {"a key in capitals", GOOD "Mode = sync\n", 6, "unknown key \"Mode\"", "known here"},
        {"unknown section", GOOD "[sinks mail]\ntype = exec\n", 6, "[sinks mail]",
         "[endpoint NAME]"},
        {"a section without a name", GOOD "[endpoint ]\npath = /b\n", 6, "[endpoint ]",
         "[endpoint NAME]"},
        {"a section's name with a blank", GOOD "[endpoint a b]\npath = /b\n", 6, "[endpoint a b]",
         "letters, digits, - and _"},
        {"a section's name with a slash", GOOD "[endpoint a/b]\npath = /b\n", 6, "[endpoint a/b]",
         "letters, digits, - and _"},
        {"a second section", GOOD "[endpoint b]\npath = /b\n[endpoint a]\npath = /c\n", 8,
         "second section [endpoint a]", "its own name"},
        {"a second key", GOOD "path = /b\n", 6, "second \"path\"", "take one away"},
        {"a second key, alike", GOOD "provider = stripe\n", 6, "second \"provider\"",
         "take one away"},
        {"a second global key", "healthz = on\nhealthz = off\n" GOOD, 2, "second \"healthz\"",
         "take one away"},
        {"garbage", GLOBAL "what is this\n" ENDPOINT, 2, "no key = value", "no section"},
        {"an open section", GLOBAL "[endpoint a\npath = /a\n", 2, "[endpoint a", "[endpoint NAME]"},
        {"an indented line is a key of its own", GOOD "  colour = red\n", 6, "\"colour\"",
         "known here"},
        {"an indented line is no continuation", GOOD "\tmore\n", 6, "no key = value", "no section"},
        {"nine secrets",
         GOOD "secret=2\nsecret=3\nsecret=4\nsecret=5\nsecret=6\nsecret=7\n"
              "secret=8\nsecret=9\n",
         13, "secret is one too many", "take old ones away"},
    };

    expect_mistakes(mistakes, ARRAY_LEN(mistakes));
}

/* Guards that a value that cannot be meant is told with its line and what can be. */
Test(conf, mistakes_of_value)
{
    static const struct mistake mistakes[] = {
        {"healthz", "healthz = 1\n" GOOD, 1, "healthz must be", "on or off"},
        {"database empty", "database =\n" ENDPOINT, 1, "database is empty",
         "postgresql:///billing"},
        {"path without a slash", GLOBAL "[endpoint a]\npath = a\n", 3, "path must", "/webhooks"},
        {"path empty", GLOBAL "[endpoint a]\npath =\n", 3, "path must", "/webhooks"},
        {"path with a blank", GLOBAL "[endpoint a]\npath = /a b\n", 3, "path must", "/webhooks"},
        {"path with a query", GLOBAL "[endpoint a]\npath = /a?b\n", 3, "path must", "/webhooks"},
        {"path escaped", GLOBAL "[endpoint a]\npath = /a%20b\n", 3, "path must", "/webhooks"},
        {"path with two slashes", GLOBAL "[endpoint a]\npath = /a//b\n", 3, "path must",
         "/webhooks"},
        {"unknown provider", GLOBAL "[endpoint a]\nprovider = strype\n", 3, "not a known provider",
         "use stripe"},
        {"provider in capitals", GLOBAL "[endpoint a]\nprovider = Stripe\n", 3,
         "not a known provider", "use stripe"},
        {"unknown mode", GOOD "mode = fast\n", 6, "not a known mode", "use sync"},
        {"tolerance a word", GOOD "tolerance = long\n", 6, "tolerance must be", "1 to 604800"},
        {"tolerance empty", GOOD "tolerance =\n", 6, "tolerance must be", "1 to 604800"},
        {"tolerance 0", GOOD "tolerance = 0\n", 6, "tolerance must be", "1 to 604800"},
        {"tolerance negative", GOOD "tolerance = -1\n", 6, "tolerance must be", "1 to 604800"},
        {"tolerance over the limit", GOOD "tolerance = 604801\n", 6, "tolerance must be",
         "1 to 604800"},
        {"tolerance with a unit", GOOD "tolerance = 5m\n", 6, "tolerance must be", "1 to 604800"},
        {"tolerance in K", GOOD "tolerance = 1K\n", 6, "tolerance must be", "1 to 604800"},
        {"tolerance with a sign", GOOD "tolerance = +5\n", 6, "tolerance must be", "1 to 604800"},
        {"tolerance with a fraction", GOOD "tolerance = 5.5\n", 6, "tolerance must be",
         "1 to 604800"},
        {"tolerance huge", GOOD "tolerance = 99999999999999999999\n", 6, "tolerance must be",
         "1 to 604800"},
        {"max_body too small", GOOD "max_body = 1023\n", 6, "max_body must be", "1K to 64M"},
        {"max_body too large", GOOD "max_body = 67108865\n", 6, "max_body must be", "1K to 64M"},
        {"max_body 65M", GOOD "max_body = 65M\n", 6, "max_body must be", "1K to 64M"},
        {"max_body in G", GOOD "max_body = 1G\n", 6, "max_body must be", "1K to 64M"},
        {"max_body with two units", GOOD "max_body = 1KK\n", 6, "max_body must be", "1K to 64M"},
        {"max_body huge", GOOD "max_body = 999999999999M\n", 6, "max_body must be", "1K to 64M"},
        {"max_body in hex", GOOD "max_body = 0x1000\n", 6, "max_body must be", "1K to 64M"},
        {"livemode", GOOD "livemode = both\n", 6, "livemode must be", "true"},
        {"account", GOOD "account = 1234\n", 6, "account must be", "acct_"},
        {"account cut", GOOD "account = acct_\n", 6, "account must be", "acct_"},
    };

    expect_mistakes(mistakes, ARRAY_LEN(mistakes));
}

/* Guards that what is missing is told where it is missed, with what to add. */
Test(conf, mistakes_of_the_whole)
{
    static const struct mistake mistakes[] = {
        {"empty", "", 0, "no database", "add database ="},
        {"no database", ENDPOINT "secret = " LITERAL "\n", 0, "no database", "add database ="},
        {"no endpoint", GLOBAL, 0, "no endpoint", "[endpoint NAME]"},
        {"no path", GLOBAL "[endpoint a]\nprovider = stripe\nsecret = " LITERAL "\n", 2,
         "\"a\" has no path", "add path = /webhooks/a"},
        {"no provider", GLOBAL "[endpoint a]\npath = /a\nsecret = " LITERAL "\n", 2,
         "\"a\" has no provider", "add provider = stripe"},
        {"no secret", GLOBAL ENDPOINT, 2, "\"a\" has no secret", "add secret = file:/"},
        {"two endpoints, one path", GOOD "[endpoint b]\npath = /a\nprovider = stripe\nsecret = x\n",
         6, "\"b\" has the path of endpoint \"a\"", "give each its own"},
        {"two paths that differ by a slash",
         GOOD "[endpoint b]\npath = /a/\nprovider = stripe\nsecret = x\n", 6,
         "\"b\" has the path of endpoint \"a\"", "give each its own"},
        {"the first is told", GLOBAL "[endpoint a]\ntolerance = 0\nmode = x\n", 3, "tolerance",
         "1 to"},
    };

    expect_mistakes(mistakes, ARRAY_LEN(mistakes));
}

/* Guards promise 5: a secret that is none, or that others know, lets nobody in. */
Test(conf, mistakes_of_secrets)
{
    static const struct mistake mistakes[] = {
        {"empty", GLOBAL ENDPOINT "secret =\n", 5, "secret", "empty"},
        {"a prefix", GLOBAL ENDPOINT "secret = v1,whsec_x\n", 5, "v1,", "take that away"},
        {"a blank inside", GLOBAL ENDPOINT "secret = whsec_a b\n", 5, "blank", "one secret a line"},
        {"the second is bad", GOOD "secret = v1,x\n", 6, "v1,", "take that away"},
        {"no such file", GLOBAL ENDPOINT "secret = file:DIR/absent\n", 5, "DIR/absent",
         "whole path"},
        {"a relative file", GLOBAL ENDPOINT "secret = file:good\n", 5, "no whole path",
         "give its whole path"},
        {"no file", GLOBAL ENDPOINT "secret = file:\n", 5, "no whole path", "give its whole path"},
        {"a file that others can read", GLOBAL ENDPOINT "secret = file:DIR/open\n", 5,
         "read by others", "chmod 600"},
        {"an empty file", GLOBAL ENDPOINT "secret = file:DIR/empty\n", 5, "secret", "empty"},
        {"a blank file", GLOBAL ENDPOINT "secret = file:DIR/blank\n", 5, "secret", "empty"},
        {"two secrets in a file", GLOBAL ENDPOINT "secret = file:DIR/two\n", 5, "line end inside",
         "one secret a line"},
        {"a prefix in a file", GLOBAL ENDPOINT "secret = file:DIR/prefix\n", 5, "v1,",
         "take that away"},
        {"no such variable", GLOBAL ENDPOINT "secret = env:HOOKONCE_TEST_ABSENT\n", 5,
         "no variable HOOKONCE_TEST_ABSENT", "set it"},
        {"no variable", GLOBAL ENDPOINT "secret = env:\n", 5, "no variable", "set it"},
    };

    cr_assert_eq(chdir(dir), 0); /* where the relative one would be found */
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        struct mistake m = mistakes[i];
        char *says = with_dir(m.says);

        m.says = says;
        expect_mistake(&m, 0600);
        free(says);
    }
}

/* Guards promise 5: a secret that cannot be read whole is no shorter secret. */
Test(conf, secret_file_is_read_whole)
{
    static const char *const names[] = {"long", "nul"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[256], error[CONF_ERROR_MAX] = "";
        struct conf *conf = NULL;

        snprintf(text, sizeof(text), GLOBAL ENDPOINT "secret = file:DIR/%s\n", names[i]);
        cr_expect_eq(load_mode(text, 0600, &conf, error), ST_CONF, "%s: a part of it was taken",
                     names[i]);
        conf_free(conf);
    }
}

/* Guards that others cannot read a secret in the configuration itself. */
Test(conf, file_that_others_can_read)
{
    static const struct {
        const char *name, *text;
        mode_t mode;
        bool refused;
    } cases[] = {
        {"literal, 600", GOOD, 0600, false},
        {"literal, 640", GOOD, 0640, false},
        {"literal, 644", GOOD, 0644, true},
        {"literal, 604", GOOD, 0604, true},
        {"file, 644", GLOBAL ENDPOINT "secret = file:DIR/good\n", 0644, false},
        {"file of a group, 644", GLOBAL ENDPOINT "secret = file:DIR/group\n", 0644, false},
        {"variable, 644", GLOBAL ENDPOINT "secret = env:HOOKONCE_TEST_SECRET\n", 0644, false},
        {"one literal of two, 644", GOOD "secret = file:DIR/good\n", 0644, true},
        {"password in a URL, 644",
         "database = postgresql://u:pw@h/db\n" ENDPOINT "secret = file:DIR/good\n", 0644, true},
        {"password as a keyword, 644",
         "database = host=h password=pw\n" ENDPOINT "secret = file:DIR/good\n", 0644, true},
        {"no password in a URL, 644",
         "database = postgresql://u@h:5432/db\n" ENDPOINT "secret = file:DIR/good\n", 0644, false},
    };

    setenv("HOOKONCE_TEST_SECRET", "whsec_env", 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char error[CONF_ERROR_MAX] = "";
        struct conf *conf = NULL;
        enum status got = load_mode(cases[i].text, cases[i].mode, &conf, error);

        cr_expect_eq(got, cases[i].refused ? ST_CONF : ST_OK, "%s: %s %s", cases[i].name,
                     status_word(got), error);
        if (got == ST_CONF)
            cr_expect(strstr(error, "read by others") != NULL && strstr(error, "chmod") != NULL,
                      "%s: %s", cases[i].name, error);
        conf_free(conf);
    }
}

/* Guards that a line that is cut is a mistake, and that a long one may be told in parts. */
Test(conf, long_lines)
{
    static char text[6000];
    char error[CONF_ERROR_MAX];
    struct conf *conf = NULL;
    char *to = stpcpy(text, GLOBAL "# ");

    memset(to, 'x', 5000);
    strcpy(to + 5000, "\n" ENDPOINT "secret = x\n");
    cr_expect_eq(load_mode(text, 0600, &conf, error), ST_CONF);
    cr_expect_not_null(strstr(error, ":2: the line is longer than"), "%s", error);
    cr_expect_not_null(strstr(error, "file:PATH"), "%s", error);

    conf = load("database = host=/run/postgresql\ndatabase = dbname=billing\n"
                "  database = user=web\n" ENDPOINT "secret = x\n");
    cr_expect_str_eq(conf->database, "host=/run/postgresql dbname=billing user=web");
    conf_free(conf);
}

/* Guards what a text editor leaves behind: line ends, blanks, a byte order mark. */
Test(conf, odd_but_good_files)
{
    static const char *const texts[] = {
        "database = postgresql:///billing\r\n[endpoint a]\r\npath = /a\r\nprovider = stripe\r\n"
        "secret = " LITERAL "\r\n",
        "\xef\xbb\xbf" GOOD,
        "   " GLOBAL "  [endpoint a]\n\tpath=/a\n provider  =  stripe  \n secret=" LITERAL,
        GLOBAL "\n\n" ENDPOINT "# secret = x\nsecret = " LITERAL "\n\n\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct conf *conf = load(texts[i]);
        const struct conf_endpoint *a = conf_endpoint(conf, "a");

        cr_expect_str_eq(conf->database, "postgresql:///billing", "case %zu", i);
        cr_assert(a != NULL && a->policy.secrets.count == 1, "case %zu", i);
        cr_expect_str_eq(a->path, "/a", "case %zu: %s", i, a->path);
        cr_expect_eq(a->policy.secrets.of[0].len, strlen(LITERAL), "case %zu", i);
        conf_free(conf);
    }
}

/* Guards that no section is dropped or taken for another without a word. */
Test(conf, sections_are_not_lost)
{
    static const struct mistake mistakes[] = {
        {"an endpoint without a key", GOOD "[endpoint b]\n", 6, "\"b\"", "add"},
        {"an unknown section without a key", GOOD "[endpiont b]\n", 6, "[endpiont b]",
         "[endpoint NAME]"},
        {"a second section right behind", GOOD "[endpoint a]\nmode = sync\n", 6,
         "second section [endpoint a]", "its own name"},
    };
    expect_mistakes(mistakes, ARRAY_LEN(mistakes));
}

/* Guards that a section is seen on the first line and behind any white space. */
Test(conf, odd_section_lines)
{
    static const struct mistake mistakes[] = {
        {"the first line", "[endpoint a]\npath = /a\n", 0, "no database", "add database ="},
        {"behind a byte order mark", "\xef\xbb\xbf[endpoint a]\npath = /a\n", 0, "no database",
         "add database ="},
        {"behind a form feed", GOOD "\f[sinks mail]\nmode = sync\n", 6, "[sinks mail]",
         "[endpoint NAME]"},
    };

    expect_mistakes(mistakes, ARRAY_LEN(mistakes));
}

/* Guards that a receipt's endpoint is the name that was written, not a part of it. */
Test(conf, long_names)
{
    char name[70], text[256], error[CONF_ERROR_MAX];

    for (size_t len = 30; len <= 66; len++) {
        struct conf *conf = NULL;
        enum status got;

        memset(name, 'n', len);
        name[len] = '\0';
        snprintf(text, sizeof(text),
                 GLOBAL "[endpoint %s]\npath = /a\nprovider = stripe\nsecret = x\n", name);
        got = load_mode(text, 0600, &conf, error);
        if (got == ST_OK)
            cr_expect_not_null(conf_endpoint(conf, name), "a name of %zu bytes became %s", len,
                               conf->endpoints[0].name);
        else
            cr_expect_gt(len, 32u, "a name of %zu bytes: %s", len, error);
        conf_free(conf);
    }
}

/* Guards that a file that is not there is told with its name and what to set. */
Test(conf, absent_file)
{
    char error[CONF_ERROR_MAX] = "";
    struct conf *conf = NULL;

    cr_expect_eq(conf_load("/nowhere/hookonce.conf", &nothing, &conf, error), ST_CONF);
    cr_expect_null(conf);
    cr_expect_eq(strncmp(error, "/nowhere/hookonce.conf: ", 24), 0, "%s", error);
    cr_expect_not_null(strstr(error, "HOOKONCE_CONF"), "%s", error);
}

/* Guards the bound of endpoints. */
Test(conf, many_endpoints)
{
    struct buf text;
    char error[CONF_ERROR_MAX] = "";
    struct conf *conf;

    buf_init(&text, 1 << 16);
    buf_text(&text, GLOBAL);
    for (int i = 1; i <= CONF_ENDPOINTS_MAX; i++)
        buf_format(&text, "[endpoint e%d]\npath = /e%d\nprovider = stripe\nsecret = x\n", i, i);
    conf = load(text.data);
    cr_expect_eq(conf->count, CONF_ENDPOINTS_MAX);
    cr_expect_str_eq(conf_route(conf, "/e64")->name, "e64");
    conf_free(conf);
    buf_text(&text, "[endpoint more]\npath = /more\n");
    cr_expect_eq(load_mode(text.data, 0600, &conf, error), ST_CONF);
    cr_expect_not_null(strstr(error, "more than 64 endpoints"), "%s", error);
    buf_release(&text);
}

/* Guards routing: a final slash aside a path is that path and nothing else. */
Test(conf, route)
{
    static const struct {
        const char *path, *name;
    } cases[] = {
        {"/a", "a"},  {"/a/", "a"},     {"/b/c", "bc"},   {"/b/c/", "bc"}, {"/", "root"},
        {"/b", NULL}, {"/aa", NULL},    {"/A", NULL},     {"/a//", NULL},  {"a", NULL},
        {"", NULL},   {"/b/c/d", NULL}, {"/b/c//", NULL}, {"/a?x", NULL},  {"/a/x", NULL},
    };
    struct conf *conf = load(GOOD "[endpoint bc]\npath = /b/c/\nprovider = stripe\nsecret = x\n"
                                  "[endpoint root]\npath = /\nprovider = stripe\nsecret = x\n");

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct conf_endpoint *e = conf_route(conf, cases[i].path);

        cr_expect_eq(e != NULL, cases[i].name != NULL, "\"%s\"", cases[i].path);
        if (e != NULL && cases[i].name != NULL)
            cr_expect_str_eq(e->name, cases[i].name, "\"%s\": %s", cases[i].path, e->name);
    }
    cr_expect_null(conf_endpoint(conf, "A"));
    cr_expect_str_eq(conf_endpoint(conf, "bc")->path, "/b/c/");
    conf_free(conf);
}

static char *printed(const struct conf *conf)
{
    struct buf out;

    buf_init(&out, 1 << 16);
    conf_print(conf, &out);
    cr_assert_not(buf_failed(&out));
    return out.data;
}

/* Guards that what is printed says what holds, and can be read again. */
Test(conf, print)
{
    static const char *const lines[] = {
        "database = postgresql:///billing",
        "healthz = on",
        "[endpoint a]",
        "path = /a",
        "provider = stripe",
        "secret = file:DIR/good\nsecret = file:DIR/group",
        "mode = sync",
        "tolerance = 300",
        "max_body = 1048576",
        "livemode = false",
        "account = any",
    };
    struct conf *conf =
        load("healthz = yes\n" GLOBAL ENDPOINT "secret = file:DIR/good\nsecret = file:DIR/group\n"
             "livemode = off\naccount = any\n");
    char *text = printed(conf), *again;

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char *line = with_dir(lines[i]), want[256];

        snprintf(want, sizeof(want), "\n%s\n", line);
        cr_expect_not_null(strstr(text, want), "no %s in\n%s", line, text);
        free(line);
    }
    conf_free(conf);
    conf = load(text);
    again = printed(conf);
    cr_expect_str_eq(again, text);
    conf_free(conf);
    free(text);
    free(again);
}

/* Guards that a secret and a database's password are never printed. */
Test(conf, print_masks)
{
    static const struct {
        const char *database;
        bool shown;
    } cases[] = {
        {"postgresql:///billing", true},
        {"postgresql://u@h:5432/db", true},
        {"host=/run/postgresql dbname=billing user=u", true},
        {"postgresql://u:hunter2@h/db", false},
        {"postgres://u:hunter2@h:5432/db?sslmode=require", false},
        {"postgresql://h/db?user=u&password=hunter2&sslmode=require", false},
        {"host=h password=hunter2 user=u", false},
        {"host=h password=hunter2", false},
        {"password='hunter2 x' host=h", false},
        {"password='x\\' hunter2' host=h", false},
        {"host=h sslpassword=hunter2", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[512], want[512], *shown;
        struct conf *conf;

        snprintf(text, sizeof(text), "database = %s\n" ENDPOINT "secret = " LITERAL "\n",
                 cases[i].database);
        snprintf(want, sizeof(want), "\ndatabase = %s\n",
                 cases[i].shown ? cases[i].database : "********");
        conf = load(text);
        cr_expect_str_eq(conf->database, cases[i].database);
        shown = printed(conf);
        cr_expect_null(strstr(shown, "hunter2"), "%s", shown);
        cr_expect_null(strstr(shown, LITERAL), "%s", shown);
        cr_expect_not_null(strstr(shown, want), "no%sin %s", want, shown);
        cr_expect_not_null(strstr(shown, "\nsecret = ********\n"), "%s", shown);
        free(shown);
        conf_free(conf);
    }
}

/* Guards passwords in the less usual forms that libpq takes. */
Test(conf, print_masks_odd_passwords)
{
    static const char *const databases[] = {
        "host = h password = hunter2 user = u",
        "host=h password =hunter2",
        "host=h password= hunter2",
        "host=h password=a&hunter2",
        "host=h password=a\\ hunter2",
        "postgresql://h:5432/db?user=u&password=a@hunter2",
        "postgresql://u:a:hunter2@h/db",
        "postgresql://u:hunter2@h1,h2:5432/db?application_name=a@b",
    };

    for (size_t i = 0; i < ARRAY_LEN(databases); i++) {
        char text[512], error[CONF_ERROR_MAX] = "", *shown;
        struct conf *conf = NULL;

        snprintf(text, sizeof(text), "database = %s\n" ENDPOINT "secret = file:DIR/good\n",
                 databases[i]);
        conf = load(text);
        shown = printed(conf);
        cr_expect_null(strstr(shown, "hunter2"), "%s: %.80s", databases[i],
                       strchr(shown, '\n') + 1);
        free(shown);
        conf_free(conf);
        cr_expect_eq(load_mode(text, 0644, &conf, error), ST_CONF, "%s: others can read it",
                     databases[i]);
        conf_free(conf);
    }
}

/* A request's variables as conf looks them up. */
static struct conf_lookup lookup_of(struct test_request *r)
{
    struct http_request request = test_request(r, true);

    return (struct conf_lookup){request.param, request.io};
}

/* Guards that what a web server sets for a request wins, and empty counts as absent. */
Test(conf, variable)
{
    const struct test_var vars[] = {
        {"HOOKONCE_TEST_A", "request"}, {"HOOKONCE_TEST_B", ""}, {NULL, NULL}};
    struct test_request r = {.vars = vars};
    const struct conf_lookup lookup = lookup_of(&r);

    setenv("HOOKONCE_TEST_A", "process", 1);
    setenv("HOOKONCE_TEST_B", "process", 1);
    setenv("HOOKONCE_TEST_C", "process", 1);
    setenv("HOOKONCE_TEST_D", "", 1);
    cr_expect_str_eq(conf_variable(&lookup, "HOOKONCE_TEST_A"), "request");
    cr_expect_str_eq(conf_variable(&lookup, "HOOKONCE_TEST_B"), "process");
    cr_expect_str_eq(conf_variable(&lookup, "HOOKONCE_TEST_C"), "process");
    cr_expect_null(conf_variable(&lookup, "HOOKONCE_TEST_D"));
    cr_expect_null(conf_variable(&lookup, "HOOKONCE_TEST_E"));
    cr_expect_str_eq(conf_variable(&nothing, "HOOKONCE_TEST_A"), "process");
}

/* Guards the order: the request, the process, the user's home, the system, none. */
Test(conf, find)
{
    const struct test_var vars[] = {{"HOOKONCE_CONF", "/request/conf"}, {NULL, NULL}};
    struct test_request r = {.vars = vars};
    const struct conf_lookup lookup = lookup_of(&r);
    const char *system = access("/etc/hookonce.conf", F_OK) == 0 ? "/etc/hookonce.conf" : "";
    char found[CONF_PATH_MAX], want[64];

    home = dir;
    snprintf(want, sizeof(want), "%s/.hookonce.conf", dir);
    conf_find(&nothing, found);
    cr_expect_str_eq(found, system, "%s", found);
    put_text(".hookonce.conf", GOOD, 0600);
    conf_find(&nothing, found);
    cr_expect_str_eq(found, want, "%s", found);
    setenv("HOOKONCE_CONF", "/process/conf", 1);
    conf_find(&nothing, found);
    cr_expect_str_eq(found, "/process/conf", "%s", found);
    conf_find(&lookup, found);
    cr_expect_str_eq(found, "/request/conf", "%s", found);
}

/* Guards that a name of any length is no write beyond the path's room. */
Test(conf, find_long_name)
{
    static char name[3 * CONF_PATH_MAX];
    char found[CONF_PATH_MAX];

    memset(name, 'x', sizeof(name) - 1);
    setenv("HOOKONCE_CONF", name, 1);
    conf_find(&nothing, found);
    cr_expect_lt(strlen(found), (size_t)CONF_PATH_MAX);
}

/* Guards promise 5: a request's header can make HTTP_X, so nobody's secret comes from it. */
Test(conf, secret_from_a_variable)
{
    static const struct {
        const char *written, *key;
    } cases[] = {
        {"env:HOOKONCE_TEST_REQUEST", "whsec_request"},
        {"env:HOOKONCE_TEST_PROCESS", "whsec_process"},
        {"env:HOOKONCE_TEST_BLANK", NULL},
        {"env:HOOKONCE_TEST_PREFIX", NULL},
        {"env:HTTP_X_SECRET", NULL},
        {"env:HTTP_", NULL},
    };
    const struct test_var vars[] = {{"HOOKONCE_TEST_REQUEST", "whsec_request\n"},
                                    {"HOOKONCE_TEST_BLANK", " \n"},
                                    {"HOOKONCE_TEST_PREFIX", "v1,whsec_x"},
                                    {"HTTP_X_SECRET", "whsec_header"},
                                    {"HTTP_", "whsec_header"},
                                    {NULL, NULL}};
    struct test_request r = {.vars = vars};
    const struct conf_lookup lookup = lookup_of(&r);

    setenv("HOOKONCE_TEST_PROCESS", "whsec_process", 1);
    setenv("HTTP_X_SECRET", "whsec_header", 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[256], error[CONF_ERROR_MAX] = "";
        struct conf *conf = NULL;
        enum status got;

        snprintf(text, sizeof(text), GLOBAL ENDPOINT "secret = %s\n", cases[i].written);
        put_text("hookonce.conf", text, 0600);
        got = conf_load(path, &lookup, &conf, error);
        cr_expect_eq(got, cases[i].key != NULL ? ST_OK : ST_CONF, "%s: %s", cases[i].written,
                     error);
        cr_expect_null(strstr(error, "whsec_"), "%s: %s", cases[i].written, error);
        if (got == ST_OK && cases[i].key != NULL)
            cr_expect(conf->endpoints[0].policy.secrets.of[0].len == 13 &&
                          memcmp(conf->endpoints[0].policy.secrets.of[0].text, cases[i].key, 13) ==
                              0,
                      "%s", cases[i].written);
        conf_free(conf);
    }
}

/* Guards that a site without a file runs from two variables, on every path. */
Test(conf, environment_alone)
{
    const struct test_var vars[] = {{"STRIPE_WEBHOOK_SECRET", "whsec_request"}, {NULL, NULL}};
    struct test_request r = {.vars = vars};
    const struct conf_lookup lookup = lookup_of(&r);
    char error[CONF_ERROR_MAX], *shown;
    struct conf *conf = NULL;

    setenv("DATABASE_URL", "postgresql://u:hunter2@h/db", 1);
    setenv("STRIPE_WEBHOOK_SECRET", "whsec_process", 1);
    cr_assert_eq(conf_load("", &lookup, &conf, error), ST_OK, "%s", error);
    cr_expect_str_eq(conf->source, "the environment");
    cr_expect_str_eq(conf->database, "postgresql://u:hunter2@h/db");
    cr_assert_eq(conf->count, 1);
    cr_expect_str_eq(conf->endpoints[0].name, "billing");
    cr_expect_eq(conf->endpoints[0].policy.tolerance, 300);
    cr_expect_eq(conf->endpoints[0].max_body, 1u << 20);
    cr_expect_eq(memcmp(conf->endpoints[0].policy.secrets.of[0].text, "whsec_request", 13), 0);
    cr_expect_eq((const void *)conf_route(conf, "/any/path"), (const void *)conf->endpoints);
    cr_expect_eq((const void *)conf_route(conf, ""), (const void *)conf->endpoints);
    shown = printed(conf);
    cr_expect_null(strstr(shown, "hunter2"), "%s", shown);
    cr_expect_null(strstr(shown, "whsec"), "%s", shown);
    free(shown);
    conf_free(conf);
}

/* Guards that half an environment is no configuration, and that it is told what is. */
Test(conf, environment_incomplete)
{
    static const struct {
        const char *database, *secret, *says;
    } cases[] = {
        {NULL, NULL, "STRIPE_WEBHOOK_SECRET"},
        {"postgresql:///x", NULL, "STRIPE_WEBHOOK_SECRET"},
        {NULL, "whsec_x", "DATABASE_URL"},
        {"", "whsec_x", "DATABASE_URL"},
        {"postgresql:///x", "", "STRIPE_WEBHOOK_SECRET"},
        {"postgresql:///x", " ", "empty"},
        {"postgresql:///x", "v1,whsec_x", "v1,"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char error[CONF_ERROR_MAX] = "";
        struct conf *conf = NULL;

        unsetenv("DATABASE_URL");
        unsetenv("STRIPE_WEBHOOK_SECRET");
        if (cases[i].database != NULL)
            setenv("DATABASE_URL", cases[i].database, 1);
        if (cases[i].secret != NULL)
            setenv("STRIPE_WEBHOOK_SECRET", cases[i].secret, 1);
        cr_expect_eq(conf_load("", &nothing, &conf, error), ST_CONF, "case %zu", i);
        cr_expect_null(conf, "case %zu", i);
        cr_expect_eq(strncmp(error, "the environment: ", 17), 0, "case %zu: %s", i, error);
        cr_expect_not_null(strstr(error, cases[i].says), "case %zu: %s", i, error);
        conf_free(conf);
    }
}

/* Guards that freeing nothing is legal. */
Test(conf, free_of_nothing)
{
    conf_free(NULL);
    cr_expect_null(conf_route(&(struct conf){.count = 0}, "/"));
    cr_expect_null(conf_endpoint(&(struct conf){.count = 0}, "a"));
}

#define HMAC  "[endpoint h]\npath = /h\nprovider = hmac\nsecret = k\n"
#define SIGNS "header = X-Signature\nid = body:id\ntype = body:type\n"

/* Guards what a described provider is made of, and that it can be read again as printed. */
Test(conf, described_provider)
{
    struct conf *conf = load(
        GLOBAL HMAC "sender = acme\nheader = X-Acme\nprefix = v1=\nhash = sha512\n"
                    "encoding = base64\nsigned = {time}.{id}.{body}\ntimestamp = t=\n"
                    "id = header:X-Id\nid = digest\ntype = is:done\ntolerance = 60\nkey = text\n"
                    "[endpoint i]\npath = /i\nprovider = hmac\nsecret = k\n" SIGNS);
    const struct conf_endpoint *h = &conf->endpoints[0], *i = &conf->endpoints[1];
    const struct scheme *own = h->policy.scheme;
    char *text, *again;

    cr_expect_str_eq(own->provider, "acme");
    cr_expect_str_eq(own->header, "X-Acme");
    cr_expect_str_eq(own->label, "v1=");
    cr_expect_eq((int)own->separator, ',');
    cr_expect_str_eq(own->time_label, "t=");
    cr_expect_str_eq(own->content, "{time}.{id}.{body}");
    cr_expect_str_eq(own->id_header, "X-Id");
    cr_expect_str_eq(own->id[1].where, "digest");
    cr_expect_null(own->id[2].where);
    cr_expect_eq(own->hash, DIGEST_SHA512);
    cr_expect_eq(own->encoding, ENCODE_BASE64);
    cr_expect_eq(h->policy.key, KEY_TEXT);
    cr_expect_eq(h->policy.tolerance, 60);
    cr_expect_str_eq(i->policy.scheme->provider, "hmac");
    cr_expect_str_eq(i->policy.scheme->content, "{body}");
    cr_expect_eq(i->policy.tolerance, 0);
    conf_free(conf);
    conf = load(GLOBAL HMAC "sender = acme\n" SIGNS "timestamp = t=\nsigned = {time}{body}\n"
                            "id = header:X\nseparator = semicolon\nprefix = sha256=\n"
                            "[endpoint t]\npath = /t\nprovider = twilio\nsecret = k\n"
                            "url = https://example.com/t\n");
    text = printed(conf);
    again = strstr(text, "********");
    while (again != NULL) {
        memcpy(again, "kkkkkkkk", 8);
        again = strstr(again, "********");
    }
    conf_free(conf);
    conf = load(text);
    again = printed(conf);
    cr_expect_eq(strlen(again), strlen(text), "%s\n%s", text, again);
    cr_expect_not_null(strstr(again, "\ntimestamp = t=\n"), "%s", again);
    cr_expect_not_null(strstr(again, "\nseparator = semicolon\n"), "%s", again);
    cr_expect_not_null(strstr(again, "\nid = body:id\nid = header:X\n"), "%s", again);
    conf_free(conf);
    free(text);
    free(again);
}

/* Guards that each part that is missing or says nothing is told with its line and a remedy. */
Test(conf, mistakes_of_providers)
{
    static const struct mistake mistakes[] = {
        {"unknown", GLOBAL "[endpoint a]\npath = /a\nprovider = paypal\n", 4,
         "provider is not a known provider", "use stripe"},
        {"no header", GLOBAL HMAC "id = digest\ntype = is:x\n", 2, "no header",
         "add header = X-Signature"},
        {"no id", GLOBAL HMAC "header = X-S\ntype = is:x\n", 2, "no id", "add id = header:NAME"},
        {"no type", GLOBAL HMAC "header = X-S\nid = digest\n", 2, "no type",
         "add type = header:NAME"},
        {"header no name", GLOBAL HMAC "header = X S\n", 6, "header must be", "X-Signature"},
        {"hash unknown", GLOBAL HMAC "hash = md5\n", 6, "hash must be", "sha256"},
        {"encoding unknown", GLOBAL HMAC "encoding = base32\n", 6, "encoding must be", "base64"},
        {"separator a sign", GLOBAL HMAC "separator = ,\n", 6, "separator must be", "comma"},
        {"signed without the body", GLOBAL HMAC "signed = {time}\n", 6, "signed must be", "{body}"},
        {"signed with an unknown part", GLOBAL HMAC "signed = {body}{nonce}\n", 6, "signed must be",
         "{time}"},
        {"signed with too many parts",
         GLOBAL HMAC "signed = {body}{body}{body}{body}{body}{body}{body}{body}{body}{body}{body}"
                     "{body}{body}\n",
         6, "signed must be", "{body}"},
        {"time without a timestamp", GLOBAL HMAC SIGNS "signed = {time}.{body}\n", 2, "{time}",
         "add timestamp = NAME"},
        {"timestamp not signed", GLOBAL HMAC SIGNS "timestamp = X-Time\n", 2, "when it is signed",
         "put {time} into signed"},
        {"timestamp no name", GLOBAL HMAC "timestamp = a b\n", 6, "timestamp must be",
         "X-Timestamp"},
        {"signed id not in a header", GLOBAL HMAC SIGNS "signed = {id}.{body}\n", 2, "{id}",
         "add id = header:NAME"},
        {"id no place", GLOBAL HMAC "id = X-Id\n", 6, "id must be", "header:NAME"},
        {"id an empty place", GLOBAL HMAC "id = body:\n", 6, "id must be", "body:PATH"},
        {"six ids",
         GLOBAL HMAC "id = digest\nid = digest\nid = digest\nid = digest\nid = digest\n"
                     "id = digest\n",
         11, "one too many", "five"},
        {"sender a provider", GLOBAL HMAC "sender = stripe\n", 6, "sender must be",
         "no known provider"},
        {"header for another provider", GOOD "header = X-S\n", 6,
         "header is for provider hmac alone", "take it away"},
        {"key unknown", GOOD "key = hex\n", 6, "key must be", "base64"},
        {"no url", GLOBAL "[endpoint a]\npath = /a\nprovider = square\nsecret = k\n", 2, "no url",
         "add url = https://"},
        {"no url, described", GLOBAL HMAC SIGNS "signed = {url}{body}\n", 2, "no url", "add url"},
        {"url no url", GLOBAL HMAC "url = example.com\n", 6, "url must begin", "https://"},
        {"url not signed", GOOD "url = https://example.com\n", 2, "does not sign it",
         "take it away"},
        {"tolerance without a time",
         GLOBAL "[endpoint a]\npath = /a\nprovider = github\nsecret = k\ntolerance = 5\n", 2,
         "signs no time", "take it away"},
        {"livemode of another provider",
         GLOBAL "[endpoint a]\npath = /a\nprovider = github\nsecret = k\nlivemode = true\n", 2,
         "are Stripe's", "take them away"},
        {"account of another provider",
         GLOBAL "[endpoint a]\npath = /a\nprovider = github\nsecret = k\naccount = any\n", 2,
         "are Stripe's", "take them away"},
        {"a key that is no base64",
         GLOBAL "[endpoint a]\npath = /a\nprovider = standard-webhooks\nsecret = whsec_a\n", 5,
         "is no base64", "copy it whole"},
        {"a signing token that is no base64",
         GLOBAL "[endpoint a]\npath = /a\nprovider = gitlab\nsecret = whsec_a\n", 5, "is no base64",
         "copy it whole"},
    };

    expect_mistakes(mistakes, ARRAY_LEN(mistakes));
}
