#include "http.h"

#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 1000 };

/* Guards that an empty variable counts as absent. */
Test(http, param)
{
    const struct test_var vars[] = {{"FULL", "x"}, {"EMPTY", ""}, {NULL, NULL}};
    struct test_request r = {.vars = vars};
    struct http_request request = test_request(&r, true);

    cr_expect_str_eq(http_param(&request, "FULL"), "x");
    cr_expect_null(http_param(&request, "EMPTY"));
    cr_expect_null(http_param(&request, "ABSENT"));
}

/* Guards that a length is plain digits, and that nothing is read to tell. */
Test(http, length_grammar)
{
    static const struct {
        const char *text;
        enum status status;
        uint64_t length;
    } cases[] = {
        {"0", ST_OK, 0},
        {"1", ST_OK, 1},
        {"12", ST_OK, 12},
        {"007", ST_OK, 7},
        {"1048576", ST_OK, 1048576},
        {"4294967296", ST_OK, UINT64_C(4294967296)},
        {"000000000000000000000000000012", ST_OK, 12},
        {"12abc", ST_LENGTH, 0},
        {"abc", ST_LENGTH, 0},
        {" 12", ST_LENGTH, 0},
        {"12 ", ST_LENGTH, 0},
        {" ", ST_LENGTH, 0},
        {"-5", ST_LENGTH, 0},
        {"-0", ST_LENGTH, 0},
        {"+5", ST_LENGTH, 0},
        {"0x10", ST_LENGTH, 0},
        {"1e3", ST_LENGTH, 0},
        {"1.0", ST_LENGTH, 0},
        {"1,2", ST_LENGTH, 0},
        {"12, 12", ST_LENGTH, 0},
        {"12\n", ST_LENGTH, 0},
        {"${jndi:ldap://example.test/a}", ST_LENGTH, 0},
        {"999999999999999999999999999999x", ST_LENGTH, 0},
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        const struct test_var vars[] = {{"CONTENT_LENGTH", cases[i / 2].text}, {NULL, NULL}};
        struct test_request r = {.vars = vars, .body = "x", .len = 1};
        struct http_request request = test_request(&r, i % 2 == 1);
        uint64_t length = 77;
        enum status got = http_length(&request, &length);

        cr_expect_eq(got, cases[i / 2].status, "\"%s\": %s", cases[i / 2].text, status_word(got));
        if (cases[i / 2].status == ST_OK)
            cr_expect_eq(length, cases[i / 2].length, "\"%s\"", cases[i / 2].text);
        cr_expect_eq(r.reads, 0u, "\"%s\": read", cases[i / 2].text);
    }
}

/* Guards that a length beyond 64 bits is over any limit, never a small one or none. */
Test(http, length_never_wraps)
{
    static const char *const huge[] = {
        "18446744073709551615", "18446744073709551616",  "18446744073709551617",
        "18446744073709551628", "184467440737095516160", "999999999999999999999999999999",
        "184467440737095516",   "1844674407370955161",
    };

    for (size_t i = 0; i < ARRAY_LEN(huge); i++) {
        const struct test_var vars[] = {{"CONTENT_LENGTH", huge[i]}, {NULL, NULL}};
        struct test_request r = {.vars = vars};
        struct http_request request = test_request(&r, true);
        struct buf body = {0};
        uint64_t length = 0;

        cr_expect_eq(http_length(&request, &length), ST_OK, "%s", huge[i]);
        cr_expect(length > UINT64_C(1) << 56 && length != HTTP_LENGTH_UNKNOWN, "%s: %llu", huge[i],
                  (unsigned long long)length);
        cr_expect_eq(http_body(&request, length, MAX, &body), ST_TOO_LARGE, "%s", huge[i]);
        buf_release(&body);
    }
}

/* Guards that a body without a length is read only where its stream has an end. */
Test(http, length_absent)
{
    static const char *const absent[] = {NULL, ""};

    for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
        const struct test_var vars[] = {{"CONTENT_LENGTH", absent[i]}, {NULL, NULL}};
        struct test_request r = {.vars = vars};
        struct http_request cgi = test_request(&r, false), ends = test_request(&r, true);
        uint64_t length = 77;

        cr_expect_eq(http_length(&cgi, &length), ST_LENGTH_MISSING, "case %zu", i);
        cr_expect_eq(http_length(&ends, &length), ST_OK, "case %zu", i);
        cr_expect_eq(length, HTTP_LENGTH_UNKNOWN, "case %zu", i);
    }
}

#define UNKNOWN HTTP_LENGTH_UNKNOWN

/* One way that a body can come. */
struct body_case {
    const char *name;
    bool body_ends;
    uint64_t declared;
    size_t sent;
    ssize_t ends;
    enum status status;
};

static const struct body_case bodies[] = {
    {"exact", true, 100, 100, 0, ST_OK},
    {"exact, plain CGI", false, 100, 100, 0, ST_OK},
    {"exact, plain CGI, further bytes are not ours", false, 100, 200, 0, ST_OK},
    {"exact, plain CGI, then broken", false, 100, 100, -1, ST_OK},
    {"exactly the limit", true, MAX, MAX, 0, ST_OK},
    {"one byte", true, 1, 1, 0, ST_OK},
    {"empty", true, 0, 0, 0, ST_OK},
    {"empty, plain CGI", false, 0, 0, 0, ST_OK},
    {"short by one", true, 100, 99, 0, ST_BODY_SHORT},
    {"short by one, plain CGI", false, 100, 99, 0, ST_BODY_SHORT},
    {"nothing came", true, 100, 0, 0, ST_BODY_SHORT},
    {"long by one", true, 100, 101, 0, ST_BODY_LONG},
    {"long by many", true, 100, 900, 0, ST_BODY_LONG},
    {"declared empty, but is not", true, 0, 5, 0, ST_BODY_LONG},
    {"broke off", true, 100, 50, -1, ST_BODY_SHORT},
    {"broke off at once", true, 100, 0, -1, ST_BODY_SHORT},
    {"broke off at its end", true, 100, 100, -1, ST_BODY_SHORT},
    {"slow", true, 100, 50, -2, ST_BODY_SLOW},
    {"slow, plain CGI", false, 100, 0, -2, ST_BODY_SLOW},
    {"declared too large", true, MAX + 1, MAX + 1, 0, ST_TOO_LARGE},
    {"no length", true, UNKNOWN, 100, 0, ST_OK},
    {"no length, the limit", true, UNKNOWN, MAX, 0, ST_OK},
    {"no length, empty", true, UNKNOWN, 0, 0, ST_OK},
    {"no length, one over", true, UNKNOWN, MAX + 1, 0, ST_TOO_LARGE},
    {"no length, far over", true, UNKNOWN, 4 * MAX, 0, ST_TOO_LARGE},
    {"no length, broke off", true, UNKNOWN, 100, -1, ST_BODY_SHORT},
    {"no length, slow", true, UNKNOWN, 100, -2, ST_BODY_SLOW},
};

static void check_body(const struct body_case *c, size_t chunk)
{
    static char sent[4 * MAX];
    struct test_request r = {.body = sent, .len = c->sent, .chunk = chunk, .ends = c->ends};
    struct http_request request = test_request(&r, c->body_ends);
    size_t most = c->declared < MAX ? (size_t)c->declared : MAX;
    struct buf body = {0};
    enum status got;

    for (size_t i = 0; i < sizeof(sent); i++)
        sent[i] = (char)(i * 7);
    got = http_body(&request, c->declared, MAX, &body);
    cr_expect_eq(got, c->status, "%s, chunks of %zu: %s", c->name, chunk, status_word(got));
    cr_expect_leq(r.at, most + 1, "%s, chunks of %zu: %zu read", c->name, chunk, r.at);
    if (!c->body_ends)
        cr_expect_leq(r.at, most, "%s, chunks of %zu: %zu read", c->name, chunk, r.at);
    if (c->status == ST_OK) {
        size_t want = c->declared == UNKNOWN ? c->sent : (size_t)c->declared;

        cr_expect_eq(body.len, want, "%s, chunks of %zu: %zu", c->name, chunk, body.len);
        cr_expect(want == 0 || memcmp(body.data, sent, want) == 0, "%s, chunks of %zu", c->name,
                  chunk);
    }
    buf_release(&body);
}

/* Guards promise 5: the whole raw body or none, however it is cut on its way. */
Test(http, body)
{
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        for (size_t chunk = 0; chunk <= 7; chunk++)
            check_body(&bodies[i], chunk);
    }
}

/* Guards that a body that is declared too large is refused before it is read. */
Test(http, body_too_large_is_not_read)
{
    struct test_request r = {.body = "x", .len = 1};
    struct http_request request = test_request(&r, true);
    struct buf body = {0};

    cr_expect_eq(http_body(&request, MAX + 1, MAX, &body), ST_TOO_LARGE);
    cr_expect_eq(r.reads, 0u);
    buf_release(&body);
}

/* Guards a large body: every byte in its place, more than one read of the transport. */
Test(http, body_large)
{
    const size_t len = 1 << 20;
    char *sent = malloc(len);
    struct test_request r = {.body = sent, .len = len};
    struct http_request request = test_request(&r, true);
    struct buf body;

    cr_assert_not_null(sent);
    for (size_t i = 0; i < len; i++)
        sent[i] = (char)(i * 31 >> 3);
    cr_assert_eq(http_body(&request, len, len, &body), ST_OK);
    cr_expect(body.len == len && memcmp(body.data, sent, len) == 0);
    buf_release(&body);
    free(sent);
}

/* A body without an end, which no drain may follow. */
static ssize_t endless(void *io, void *to, size_t len)
{
    memset(to, 'x', len);
    *(size_t *)io += len;
    return (ssize_t)len;
}

static const char *length_5(void *io UNUSED, const char *name)
{
    return strcmp(name, "CONTENT_LENGTH") == 0 ? "5" : NULL;
}

/* Guards that no peer can hold a process by sending on and on. */
Test(http, drain_is_bounded, .timeout = 20)
{
    size_t read = 0;
    struct http_request request = {&read, length_5, endless, true};

    http_drain(&request);
    cr_expect_eq(read, (size_t)HTTP_DRAIN_MAX, "%zu bytes", read);
}

/* Guards that what is left is read to its end, and not where nothing says where it is. */
Test(http, drain)
{
    static const char sent[100000];
    static const struct {
        const char *name, *length;
        bool body_ends;
        ssize_t ends;
        size_t chunk, read;
    } cases[] = {
        {"to its end", NULL, true, 0, 0, sizeof(sent)},
        {"in small pieces", NULL, true, 0, 7, sizeof(sent)},
        {"broken", NULL, true, -1, 0, sizeof(sent)},
        {"slow", NULL, true, -2, 0, sizeof(sent)},
        {"malformed length, but an end", "abc", true, 0, 0, sizeof(sent)},
        {"plain CGI with a length", "100000", false, 0, 0, sizeof(sent)},
        {"plain CGI without a length", NULL, false, 0, 0, 0},
        {"plain CGI with a malformed length", "abc", false, 0, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct test_var vars[] = {{"CONTENT_LENGTH", cases[i].length}, {NULL, NULL}};
        struct test_request r = {.vars = vars,
                                 .body = sent,
                                 .len = sizeof(sent),
                                 .chunk = cases[i].chunk,
                                 .ends = cases[i].ends};
        struct http_request request = test_request(&r, cases[i].body_ends);

        http_drain(&request);
        cr_expect_eq(r.at, cases[i].read, "%s: %zu read", cases[i].name, r.at);
    }
}

/* The header's value within an answer's head into value, "" when it is absent. Each line
 * must end with CR LF. */
static void header(const char *head, const char *name, char value[128])
{
    size_t len = strlen(name);

    value[0] = '\0';
    for (const char *line = head; *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t whole = strcspn(line, "\n");

        cr_assert(whole > 0 && line[whole] == '\n' && line[whole - 1] == '\r', "%s", head);
        if (whole == 1)
            return;
        if (strncmp(line, name, len) == 0 && strncmp(line + len, ": ", 2) == 0)
            snprintf(value, 128, "%.*s", (int)(whole - len - 3), line + len + 2);
    }
}

static void check_answer(enum status status, bool head_alone)
{
    const struct http_reply reply = {.status = status, .outcome = "processed", .head = head_alone};
    const char *word = status_word(status), *body;
    char value[128], want[128];
    struct buf out;

    buf_init(&out, 1024);
    http_format(&reply, &out);
    cr_assert(!buf_failed(&out) && strlen(out.data) == out.len, "%s", word);
    body = strstr(out.data, "\r\n\r\n");
    cr_assert_not_null(body, "%s: %s", word, out.data);
    body += 4;

    snprintf(want, sizeof(want), "Status: %d ", status_http(status));
    cr_expect_eq(strncmp(out.data, want, strlen(want)), 0, "%s: %s", word, out.data);
    header(out.data, "Status", value);
    cr_expect(strlen(value) > 4 && strcmp(value + 4, "Answer") != 0, "%s: no phrase", word);
    header(out.data, "Content-Type", value);
    cr_expect_str_eq(value, "application/json", "%s: %s", word, value);
    header(out.data, "Cache-Control", value);
    cr_expect_str_eq(value, "no-store", "%s: %s", word, value);
    header(out.data, "Allow", value);
    cr_expect_str_eq(value, status_http(status) == 405 ? "POST" : "", "%s: %s", word, value);
    header(out.data, "Retry-After", value);
    cr_expect_str_eq(value, status_http(status) == 503 ? "10" : "", "%s: %s", word, value);

    snprintf(want, sizeof(want),
             status == ST_OK ? "{\"outcome\":\"%s\"}\n" : "{\"error\":\"%s\"}\n",
             status == ST_OK ? "processed" : word);
    cr_expect_str_eq(body, head_alone ? "" : want, "%s: %s", word, body);
    header(out.data, "Content-Length", value);
    cr_expect_eq((size_t)atoi(value), strlen(want), "%s: %s", word, value);
    buf_release(&out);
}

/* Guards promise 1: a broken answer would be taken for a 200, so each is well-formed. */
Test(http, answers)
{
    for (int s = 0; s < ST_COUNT; s++) {
        check_answer((enum status)s, false);
        check_answer((enum status)s, true);
    }
}

/* Guards the body alone: the outcome's word, or the reason's. */
Test(http, answer_bodies)
{
    static const struct {
        struct http_reply reply;
        const char *body;
    } cases[] = {
        {{.status = ST_OK, .outcome = "duplicate", .head = false}, "{\"outcome\":\"duplicate\"}\n"},
        {{.status = ST_OK, .outcome = "parked", .head = true}, "{\"outcome\":\"parked\"}\n"},
        {{.status = ST_SIG_FORGED, .outcome = NULL, .head = false},
         "{\"error\":\"signature_mismatch\"}\n"},
        {{.status = ST_DB_DOWN, .outcome = "processed", .head = false},
         "{\"error\":\"database_unavailable\"}\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf out;

        buf_init(&out, 256);
        http_format_body(&cases[i].reply, &out);
        cr_expect_str_eq(out.data, cases[i].body, "case %zu: %s", i, out.data);
        buf_release(&out);
    }
}
