#include "conf.h"

#include "conf_keys.h"

#include <errno.h>
#include <ini.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BODY_DEFAULT = 1 << 20 };

const char *conf_variable(const struct conf_lookup *lookup, const char *name)
{
    const char *value = lookup->param == NULL ? NULL : lookup->param(lookup->io, name);

    if (value == NULL || value[0] == '\0')
        value = getenv(name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

void conf_find(const struct conf_lookup *lookup, char path[CONF_PATH_MAX])
{
    const char *named = conf_variable(lookup, "HOOKONCE_CONF");
    const struct passwd *user;

    if (named != NULL) {
        snprintf(path, CONF_PATH_MAX, "%s", named);
        return;
    }
    user = getpwuid(geteuid());
    if (user != NULL) {
        snprintf(path, CONF_PATH_MAX, "%s/.hookonce.conf", user->pw_dir);
        if (access(path, F_OK) == 0)
            return;
    }
    snprintf(path, CONF_PATH_MAX, "/etc/hookonce.conf");
    if (access(path, F_OK) != 0)
        path[0] = '\0';
}

void conf_mistake(struct conf_reading *r, int line, const char *format, ...)
{
    char where[32] = "";
    va_list args;
    int len;

    if (r->status != ST_OK)
        return;
    r->status = ST_CONF;
    if (line > 0)
        snprintf(where, sizeof(where), ":%d", line);
    len = snprintf(r->error, CONF_ERROR_MAX, "%s%s: ", r->target.conf->source, where);
    if (len < 0 || len >= CONF_ERROR_MAX)
        return;
    va_start(args, format);
    vsnprintf(r->error + len, (size_t)(CONF_ERROR_MAX - len), format, args);
    va_end(args);
}

const char *conf_keep(struct conf_endpoint *e, const char *text)
{
    char *copy = e->kept_count == CONF_KEPT_MAX ? NULL : strdup(text);

    if (copy != NULL)
        e->kept[e->kept_count++] = copy;
    return copy;
}

static struct conf_endpoint *new_endpoint(struct conf *conf, const char *name, int line)
{
    struct conf_endpoint *e = &conf->endpoints[conf->count];

    *e = (struct conf_endpoint){.policy = {.tolerance = -1},
                                .max_body = MAX_BODY_DEFAULT,
                                .deadline_ms = CONF_DEADLINE_MS,
                                .livemode = -1};
    e->own = *scheme_find("hmac");
    e->name = strdup(name);
    e->account = strdup("none");
    e->line = line;
    conf->count++;
    return e->name != NULL && e->account != NULL ? e : NULL;
}

bool conf_plain_name(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

    return name[0] != '\0' && strlen(name) <= CONF_NAME_MAX && name[strspn(name, plain)] == '\0';
}

/* A line that begins with [. inih tells of a section only with its first key, and cuts
 * long names, so sections are read here. */
static void open_section(struct conf_reading *r, const char *line)
{
    size_t len = strcspn(line, "]");
    struct conf *conf = r->target.conf;
    char name[CONF_NAME_MAX + 1] = "";

    r->where = CONF_ENDPOINT;
    r->seen_count = 0;
    r->target.endpoint = NULL;
    if (strncmp(line, "[endpoint ", 10) == 0 && len - 10 < sizeof(name))
        memcpy(name, line + 10, len - 10);
    if (line[len] != ']' || !conf_plain_name(name)) {
        conf_mistake(r, r->target.line,
                     "unknown section %.*s: write [endpoint NAME], the name in at most %d letters, "
                     "digits, - and _",
                     (int)strcspn(line, "\r\n"), line, CONF_NAME_MAX);
    } else if (conf_endpoint(conf, name) != NULL) {
        conf_mistake(r, r->target.line, "a second section [endpoint %s]: give each its own name",
                     name);
    } else if (conf->count == CONF_ENDPOINTS_MAX) {
        conf_mistake(r, r->target.line, "more than %d endpoints", CONF_ENDPOINTS_MAX);
    } else {
        r->target.endpoint = new_endpoint(conf, name, r->target.line);
        if (r->target.endpoint == NULL)
            r->status = ST_NOMEM;
    }
}

/* The names of a section's keys, for the message about one that is none of them. */
static const char *known_keys(enum conf_section section, char *out, size_t room)
{
    const struct conf_key *key;
    size_t len = 0;

    out[0] = '\0';
    for (size_t n = 0; (key = conf_key_at(n)) != NULL && len < room; n++) {
        if (key->section == section)
            len += (size_t)snprintf(out + len, room - len, "%s%s", len == 0 ? "" : ", ", key->name);
    }
    return out;
}

static bool seen_before(struct conf_reading *r, const struct conf_key *key)
{
    for (int i = 0; i < r->seen_count; i++) {
        if (r->seen[i] == key)
            return true;
    }
    if (r->seen_count < CONF_SEEN_MAX)
        r->seen[r->seen_count++] = key;
    return false;
}

static int on_key(void *user, const char *section UNUSED, const char *name, const char *value)
{
    struct conf_reading *r = user;
    const struct conf_key *key;
    const char *wrong;
    char known[512];

    if (r->status != ST_OK)
        return 0;
    key = conf_key_find(r->where, name);
    if (key == NULL) {
        conf_mistake(r, r->target.line, "unknown key \"%s\": only these are known here: %s", name,
                     known_keys(r->where, known, sizeof(known)));
    } else if (seen_before(r, key) && !key->repeats) {
        conf_mistake(r, r->target.line, "a second \"%s\": take one away", name);
    } else if ((wrong = key->set(&r->target, value)) != NULL) {
        conf_mistake(r, r->target.line, "%s %s", name, wrong);
    }
    return r->status == ST_OK;
}

/* inih's lines come from here, so that they can be counted, and an indented line is no
 * continuation of the one before it. A line that does not fit is a mistake, not two. */
static char *next_line(char *line, int room, void *user)
{
    struct conf_reading *r = user;
    size_t len, blanks;

    if (r->status != ST_OK || fgets(line, room, r->file) == NULL)
        return NULL;
    r->target.line++;
    len = strlen(line);
    if (len + 1 == (size_t)room && line[len - 1] != '\n') {
        conf_mistake(r, r->target.line,
                     "the line is longer than %d bytes: put it on several lines "
                     "(database), or use file:PATH (secret)",
                     room - 2);
        return NULL;
    }
    blanks = r->target.line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    blanks += strspn(line + blanks, " \t\v\f\r");
    memmove(line, line + blanks, len - blanks + 1);
    if (line[0] == '[')
        open_section(r, line);
    return line;
}

static void read_file(struct conf_reading *r, const char *path)
{
    int line;

    r->file = fopen(path, "r");
    if (r->file == NULL) {
        conf_mistake(r, 0,
                     "cannot be read (%s): set HOOKONCE_CONF to the configuration, and let uid "
                     "%ld read it",
                     strerror(errno), (long)geteuid());
        return;
    }
    line = ini_parse_stream(next_line, r, on_key, r);
    if (line != 0)
        conf_mistake(r, line, "the line is no section, no key = value and no comment");
    if (r->status == ST_OK)
        conf_check(r);
    fclose(r->file);
}

/* DATABASE_URL and STRIPE_WEBHOOK_SECRET make one endpoint that answers on every path. */
static void read_environment(struct conf_reading *r)
{
    static const char secret[] = "env:STRIPE_WEBHOOK_SECRET";
    const char *database = conf_variable(r->lookup, "DATABASE_URL");
    struct conf *conf = r->target.conf;
    struct conf_endpoint *e = new_endpoint(conf, "billing", 0);

    if (database == NULL || conf_variable(r->lookup, secret + 4) == NULL) {
        conf_mistake(r, 0,
                     "no configuration: write /etc/hookonce.conf or ~/.hookonce.conf, set "
                     "HOOKONCE_CONF to a file, or set DATABASE_URL and STRIPE_WEBHOOK_SECRET");
        return;
    }
    r->target.endpoint = e;
    if (e == NULL || conf_key_find(CONF_GLOBAL, "database")->set(&r->target, database) != NULL ||
        conf_key_find(CONF_ENDPOINT, "secret")->set(&r->target, secret) != NULL) {
        r->status = ST_NOMEM;
        return;
    }
    e->policy.scheme = scheme_find("stripe");
    e->policy.tolerance = e->policy.scheme->tolerance;
    conf_take_secrets(r, e);
}

enum status conf_load(const char *path, const struct conf_lookup *lookup, struct conf **out,
                      char error[CONF_ERROR_MAX])
{
    struct conf *conf = calloc(1, sizeof(*conf));
    struct conf_reading r = {.lookup = lookup, .status = ST_OK, .error = error};

    *out = NULL;
    snprintf(error, CONF_ERROR_MAX, "out of memory");
    if (conf == NULL)
        return ST_NOMEM;
    r.target.conf = conf;
    conf->source = strdup(path[0] != '\0' ? path : "the environment");
    if (conf->source == NULL)
        r.status = ST_NOMEM;
    else if (path[0] != '\0')
        read_file(&r, path);
    else
        read_environment(&r);
    if (r.status == ST_OK)
        *out = conf;
    else
        conf_free(conf);
    return r.status;
}
