#include "event.h"

#include "support.h"

#include <criterion/criterion.h>
#include <json-c/json_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(literal) (literal), sizeof(literal) - 1

/* An event and the body that it points into. */
struct parsed {
    struct test_signed body;
    struct event event;
    enum status status;
};

static void parse(struct parsed *p, const char *text, size_t len)
{
    test_sign(&p->body, text, len);
    memset(&p->event, 0x55, sizeof(p->event));
    p->status = event_parse(p->body.verified, &p->event);
}

static void release(struct parsed *p)
{
    event_release(&p->event);
    test_signed_release(&p->body);
}

static void expect(const char *name, const char *text, size_t len, enum status want)
{
    struct parsed p;

    parse(&p, text, len);
    cr_expect_eq(p.status, want, "%s: %s, not %s", name, status_word(p.status), status_word(want));
    release(&p);
}

/* Guards that an event is what the provider said, byte for byte. */
Test(event, whole)
{
    static const char text[] =
        "{\"id\": \"evt_1\", \"type\": \"invoice.paid\", \"account\": \"acct_1\","
        " \"livemode\": true, \"created\": 1760090000,"
        " \"data\": {\"object\": {\"amount_paid\": 2000.00}}}";
    struct parsed p;

    parse(&p, text, sizeof(text) - 1);
    cr_assert_eq(p.status, ST_OK, "%s", status_word(p.status));
    cr_expect_str_eq(p.event.id, "evt_1");
    cr_expect_str_eq(p.event.type, "invoice.paid");
    cr_expect_str_eq(p.event.account, "acct_1");
    cr_expect_eq(p.event.livemode, 1);
    cr_expect_eq(p.event.created, 1760090000);
    cr_expect_eq((const void *)p.event.text, (const void *)p.body.body.data);
    cr_expect_eq(p.event.len, sizeof(text) - 1);
    cr_expect_null(p.event.raw);
    cr_expect_eq(p.event.raw_len, 0u);
    cr_expect_not_null(json_object_object_get(event_object(&p.event), "amount_paid"));
    release(&p);
}

#define EVENT(fields) "{" fields ",\"data\":{}}"

/* Guards what may stand for an id, a type and an account: they become keys and log words. */
Test(event, envelope)
{
    static const struct {
        const char *name, *text;
        enum status status;
    } cases[] = {
        {"good", EVENT("\"id\":\"e\",\"type\":\"t\""), ST_OK},
        {"no id", EVENT("\"type\":\"t\""), ST_EVENT_ID},
        {"id null", EVENT("\"id\":null,\"type\":\"t\""), ST_EVENT_ID},
        {"id empty", EVENT("\"id\":\"\",\"type\":\"t\""), ST_EVENT_ID},
        {"id a number", EVENT("\"id\":1,\"type\":\"t\""), ST_EVENT_ID},
        {"id true", EVENT("\"id\":true,\"type\":\"t\""), ST_EVENT_ID},
        {"id an object", EVENT("\"id\":{\"id\":\"e\"},\"type\":\"t\""), ST_EVENT_ID},
        {"id a list", EVENT("\"id\":[\"e\"],\"type\":\"t\""), ST_EVENT_ID},
        {"id with a line end", EVENT("\"id\":\"a\\nb\",\"type\":\"t\""), ST_EVENT_ID},
        {"id with a DEL", EVENT("\"id\":\"a\\u007f\",\"type\":\"t\""), ST_EVENT_ID},
        {"id with U+0085, escaped", EVENT("\"id\":\"a\\u0085\",\"type\":\"t\""), ST_EVENT_ID},
        {"id with U+0085, raw", EVENT("\"id\":\"a\xc2\x85\",\"type\":\"t\""), ST_EVENT_ID},
        {"id with a NUL", EVENT("\"id\":\"evt_1\\u0000x\",\"type\":\"t\""), ST_EVENT_ID},
        {"id with half a pair", EVENT("\"id\":\"evt_\\ud800\",\"type\":\"t\""), ST_EVENT_ID},
        {"id out of range", EVENT("\"id\":1e999999,\"type\":\"t\""), ST_EVENT_ID},
        {"id with a blank", EVENT("\"id\":\"a b\",\"type\":\"t\""), ST_OK},
        {"id beyond ASCII", EVENT("\"id\":\"\xc3\xa4\",\"type\":\"t\""), ST_OK},
        {"id with U+FFFD of its own", EVENT("\"id\":\"\\ufffd\",\"type\":\"t\""), ST_OK},
        {"id in capitals", EVENT("\"ID\":\"e\",\"type\":\"t\""), ST_EVENT_ID},
        {"id under a key with a NUL", EVENT("\"id\\u0000\":\"e\",\"type\":\"t\""), ST_EVENT_ID},
        {"no type", EVENT("\"id\":\"e\""), ST_EVENT_TYPE},
        {"type null", EVENT("\"id\":\"e\",\"type\":null"), ST_EVENT_TYPE},
        {"type empty", EVENT("\"id\":\"e\",\"type\":\"\""), ST_EVENT_TYPE},
        {"type a number", EVENT("\"id\":\"e\",\"type\":3"), ST_EVENT_TYPE},
        {"type a list", EVENT("\"id\":\"e\",\"type\":[\"t\"]"), ST_EVENT_TYPE},
        {"type with a tab", EVENT("\"id\":\"e\",\"type\":\"a\\tb\""), ST_EVENT_TYPE},
        {"type with a NUL", EVENT("\"id\":\"e\",\"type\":\"invoice.paid\\u0000\""), ST_EVENT_TYPE},
        {"type with half a pair", EVENT("\"id\":\"e\",\"type\":\"\\udc00\""), ST_EVENT_TYPE},
        {"account a number", EVENT("\"id\":\"e\",\"type\":\"t\",\"account\":1"), ST_EVENT_ACCOUNT},
        {"account empty", EVENT("\"id\":\"e\",\"type\":\"t\",\"account\":\"\""), ST_EVENT_ACCOUNT},
        {"account an object", EVENT("\"id\":\"e\",\"type\":\"t\",\"account\":{}"),
         ST_EVENT_ACCOUNT},
        {"account false", EVENT("\"id\":\"e\",\"type\":\"t\",\"account\":false"), ST_EVENT_ACCOUNT},
        {"account with a line end", EVENT("\"id\":\"e\",\"type\":\"t\",\"account\":\"a\\n\""),
         ST_EVENT_ACCOUNT},
        {"account null", EVENT("\"id\":\"e\",\"type\":\"t\",\"account\":null"), ST_OK},
        {"an empty object", "{}", ST_EVENT_ID},
        {"the id within data alone", "{\"data\":{\"id\":\"e\"},\"type\":\"t\"}", ST_EVENT_ID},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect(cases[i].name, cases[i].text, strlen(cases[i].text), cases[i].status);
}

/* Guards the limit of 255 bytes, which is one of bytes and not of characters. */
Test(event, names_are_bounded)
{
    static const struct {
        const char *name, *format;
        enum status too_long;
    } cases[] = {
        {"id", "{\"id\":\"%s\",\"type\":\"t\"}", ST_EVENT_ID},
        {"type", "{\"id\":\"e\",\"type\":\"%s\"}", ST_EVENT_TYPE},
        {"account", "{\"id\":\"e\",\"type\":\"t\",\"account\":\"%s\"}", ST_EVENT_ACCOUNT},
    };
    static const struct {
        const char *letter;
        size_t times;
        bool fits;
    } names[] = {{"x", 1, true},           {"x", 254, true},       {"x", 255, true},
                 {"x", 256, false},        {"x", 5000, false},     {"\xc3\xa4", 127, true},
                 {"\xc3\xa4", 128, false}, {"\\u00e4", 127, true}, {"\\u00e4", 128, false}};

    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(names); i++) {
        size_t c = i / ARRAY_LEN(names), n = i % ARRAY_LEN(names);
        static char name[8192], text[10000];
        char *to = name;

        for (size_t k = 0; k < names[n].times; k++)
            to = stpcpy(to, names[n].letter);
        /* the formats are those above: one %s each */
        to = stpcpy(text, "");
        for (const char *f = cases[c].format; *f != '\0'; f++) {
            if (*f == '%') {
                to = stpcpy(to, name);
                f++;
            } else {
                *to++ = *f;
            }
        }
        *to = '\0';
        snprintf(name, sizeof(name), "%s, %zu times %s", cases[c].name, names[n].times,
                 names[n].letter);
        expect(name, text, strlen(text), names[n].fits ? ST_OK : cases[c].too_long);
    }
}

/* Guards what is no JSON at all, or JSON in part, or more than one value. */
Test(event, malformed)
{
    static const struct {
        const char *name, *text;
        size_t len;
        enum status status;
    } cases[] = {
        {"empty", TEXT(""), ST_JSON},
        {"blank", TEXT(" \r\n\t"), ST_JSON},
        {"cut", TEXT("{\"id\":\"e\",\"type\":\"t\""), ST_JSON},
        {"cut in a string", TEXT("{\"id\":\"e"), ST_JSON},
        {"text", TEXT("hello world"), ST_JSON},
        {"a form", TEXT("id=e&type=t"), ST_JSON},
        {"two values", TEXT("{\"id\":\"e\",\"type\":\"t\"}{}"), ST_JSON},
        {"two values, parted", TEXT("{\"id\":\"e\",\"type\":\"t\"}\n{}"), ST_JSON},
        {"a brace too many", TEXT("{\"id\":\"e\",\"type\":\"t\"}}"), ST_JSON},
        {"a comma behind it", TEXT("{\"id\":\"e\",\"type\":\"t\"},"), ST_JSON},
        {"a comma too many", TEXT("{\"id\":\"e\",\"type\":\"t\",}"), ST_JSON},
        {"a comma too many in a list", TEXT("{\"id\":\"e\",\"type\":\"t\",\"l\":[1,]}"), ST_JSON},
        {"no colon", TEXT("{\"id\" \"e\",\"type\":\"t\"}"), ST_JSON},
        {"no comma", TEXT("{\"id\":\"e\" \"type\":\"t\"}"), ST_JSON},
        {"no value", TEXT("{\"id\":\"e\",\"type\":}"), ST_JSON},
        {"a bare key", TEXT("{id:\"e\",\"type\":\"t\"}"), ST_JSON},
        {"a number as a key", TEXT("{1:\"e\",\"type\":\"t\"}"), ST_JSON},
        {"the wrong bracket", TEXT("{\"id\":\"e\",\"type\":\"t\"]"), ST_JSON},
        {"single quotes", TEXT("{'id':'e','type':'t'}"), ST_JSON},
        {"a comment", TEXT("{\"id\":\"e\",\"type\":\"t\"} /* x */"), ST_JSON},
        {"NaN", TEXT("{\"id\":\"e\",\"type\":\"t\",\"n\":NaN}"), ST_JSON},
        {"-Infinity", TEXT("{\"id\":\"e\",\"type\":\"t\",\"n\":-Infinity}"), ST_JSON},
        {"01", TEXT("{\"id\":\"e\",\"type\":\"t\",\"n\":01}"), ST_JSON},
        {"1.", TEXT("{\"id\":\"e\",\"type\":\"t\",\"n\":1.}"), ST_JSON},
        {"True", TEXT("{\"id\":\"e\",\"type\":\"t\",\"n\":True}"), ST_JSON},
        {"a byte order mark", TEXT("\xef\xbb\xbf{\"id\":\"e\",\"type\":\"t\"}"), ST_JSON},
        {"a NUL behind it", TEXT("{\"id\":\"e\",\"type\":\"t\"}\0"), ST_JSON},
        {"a NUL, then more", TEXT("{\"id\":\"e\",\"type\":\"t\"}\0{}"), ST_JSON},
        {"a NUL in front", TEXT("\0{\"id\":\"e\",\"type\":\"t\"}"), ST_JSON},
        {"a NUL in a string", TEXT("{\"id\":\"e\0x\",\"type\":\"t\"}"), ST_JSON},
        {"overlong UTF-8", TEXT("{\"id\":\"\xc0\xaf\",\"type\":\"t\"}"), ST_JSON},
        {"a surrogate in UTF-8", TEXT("{\"id\":\"\xed\xa0\x80\",\"type\":\"t\"}"), ST_JSON},
        {"null", TEXT("null"), ST_JSON_OBJECT},
        {"true", TEXT("true"), ST_JSON_OBJECT},
        {"a number", TEXT("12"), ST_JSON_OBJECT},
        {"a number out of range", TEXT("1e999999"), ST_JSON_OBJECT},
        {"a string", TEXT("\"{}\""), ST_JSON_OBJECT},
        {"a list", TEXT("[{\"id\":\"e\",\"type\":\"t\"}]"), ST_JSON_OBJECT},
        {"an empty list", TEXT(" [] "), ST_JSON_OBJECT},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect(cases[i].name, cases[i].text, cases[i].len, cases[i].status);
}

/* Guards that white space round an event is none of its mistakes. */
Test(event, white_space)
{
    static const char *const texts[] = {
        "{\"id\":\"e\",\"type\":\"t\"}\n",
        "{\"id\":\"e\",\"type\":\"t\"}\r\n\r\n",
        " \t\r\n{\"id\":\"e\",\"type\":\"t\"}",
        "{\r\n  \"id\" : \"e\" ,\r\n\t\"type\":\r\n\"t\"\r\n}\r\n",
        "{\"id\":\"e\",\"type\":\"t\"}          ",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct parsed p;

        parse(&p, texts[i], strlen(texts[i]));
        cr_expect_eq(p.status, ST_OK, "case %zu: %s", i, status_word(p.status));
        cr_expect_eq(p.event.len, strlen(texts[i]), "case %zu: the bytes as they came", i);
        release(&p);
    }
}

/* Guards that a site can tell live from test, and events without a word of it. */
Test(event, livemode_and_created)
{
    static const struct {
        const char *fields;
        int livemode;
        int64_t created;
    } cases[] = {
        {"", -1, 0},
        {",\"livemode\":true,\"created\":1", 1, 1},
        {",\"livemode\":false,\"created\":0", 0, 0},
        {",\"livemode\":null,\"created\":null", -1, 0},
        {",\"livemode\":\"true\",\"created\":\"1760090000\"", -1, 0},
        {",\"livemode\":1,\"created\":1760090000.5", -1, 0},
        {",\"livemode\":0,\"created\":\"2025-10-09T08:53:20.246Z\"", -1, 0},
        {",\"livemode\":{},\"created\":-1", -1, 0},
        {",\"livemode\":[true],\"created\":9223372036854775808", -1, 0},
        {",\"livemode\":true,\"created\":253402300799", 1, 253402300799},
        {",\"livemode\":true,\"created\":253402300800", 1, 0},
        {",\"created\":true", -1, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[256];
        struct parsed p;

        snprintf(text, sizeof(text), "{\"id\":\"e\",\"type\":\"t\"%s}", cases[i].fields);
        parse(&p, text, strlen(text));
        cr_expect_eq(p.status, ST_OK, "%s: %s", text, status_word(p.status));
        cr_expect_eq(p.event.livemode, cases[i].livemode, "%s: %d", text, p.event.livemode);
        cr_expect_eq(p.event.created, cases[i].created, "%s: %lld", text,
                     (long long)p.event.created);
        release(&p);
    }
}

/* Guards promise 1: what jsonb cannot hold is replaced, and the exact bytes are kept. */
Test(event, replacements)
{
    static const char text[] =
        "{\"id\":\"e\",\"type\":\"t\",\"a\\u0000\":\"x\\ud800y\",\"n\":1e999999}";
    static const char fixed[] =
        "{\"id\":\"e\",\"type\":\"t\",\"a\\ufffd\":\"x\\ufffdy\",\"n\":null    }";
    struct parsed p;

    parse(&p, text, sizeof(text) - 1);
    cr_assert_eq(p.status, ST_OK, "%s", status_word(p.status));
    cr_expect_eq((const void *)p.event.raw, (const void *)p.body.body.data);
    cr_expect_eq(p.event.raw_len, sizeof(text) - 1);
    cr_expect_eq(p.event.len, sizeof(fixed) - 1);
    cr_expect_str_eq(p.event.text, fixed, "%s", p.event.text);
    cr_expect_str_eq(p.body.body.data, text, "the body was changed");
    cr_expect_str_eq(json_object_get_string(json_object_object_get(p.event.json, "a\xef\xbf\xbd")),
                     "x\xef\xbf\xbdy");
    release(&p);
}

/* Guards that raw is kept only where text had to differ. */
Test(event, raw_only_where_needed)
{
    static const struct {
        const char *fields;
        bool raw;
    } cases[] = {
        {"\"x\":\"\\ud83d\\ude00\"", false},
        {"\"x\":\"\\ufffd\"", false},
        {"\"x\":18446744073709551616", false},
        {"\"x\":1e399", false},
        {"\"x\":\"\\\\u0000\"", false},
        {"\"x\":\"\\u0000\"", true},
        {"\"\\udc00\":1", true},
        {"\"x\":-1e-999999", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[256];
        struct parsed p;

        snprintf(text, sizeof(text), "{\"id\":\"e\",\"type\":\"t\",%s}", cases[i].fields);
        parse(&p, text, strlen(text));
        cr_expect_eq(p.status, ST_OK, "%s: %s", text, status_word(p.status));
        cr_expect_eq(p.event.raw != NULL, cases[i].raw, "%s", text);
        cr_expect_eq(p.event.len, strlen(text), "%s", text);
        cr_expect_eq(strcmp(p.event.text, text) == 0, !cases[i].raw, "%s", text);
        release(&p);
    }
}

/* Guards promise 8: no number of the text loses a digit on its way to the database. */
Test(event, text_is_not_rewritten)
{
    static const char text[] = "{ \"id\":\"e\" ,\"type\":\"t\",\"n\":[12345678901234567890123.50,"
                               "1.0,1e2,-0,0.1000],\"s\":\"\\u00e4\\/\" }\n";
    struct parsed p;

    parse(&p, text, sizeof(text) - 1);
    cr_assert_eq(p.status, ST_OK, "%s", status_word(p.status));
    cr_expect_str_eq(p.event.text, text);
    cr_expect_eq(p.event.len, sizeof(text) - 1);
    release(&p);
}

/* An event nested so deep altogether, its own object counted, with a number within the
 * innermost list or not; the caller frees it. */
static char *nested(int depth, char open, bool leaf)
{
    const char close = open == '[' ? ']' : '}';
    char *text = malloc((size_t)depth * 6 + 64), *to;

    cr_assert_not_null(text);
    to = stpcpy(text, "{\"id\":\"e\",\"type\":\"t\",\"a\":");
    for (int i = 1; i < depth; i++)
        to = stpcpy(to, open == '[' ? "[" : i + 1 < depth ? "{\"a\":" : "{");
    if (leaf)
        to = stpcpy(to, open == '[' ? "1" : "\"a\":1");
    for (int i = 1; i < depth; i++)
        *to++ = close;
    strcpy(to, "}");
    return text;
}

/* Guards that a deep event costs a refusal and no stack: 512 levels are taken, a value in
 * the innermost one counts as a level. */
Test(event, depth)
{
    static const struct {
        int depth;
        bool leaf;
        enum status status;
    } cases[] = {
        {2, true, ST_OK},
        {400, true, ST_OK},
        {511, true, ST_OK},
        {512, false, ST_OK},
        {512, true, ST_JSON_DEPTH},
        {513, false, ST_JSON_DEPTH},
        {5000, true, ST_JSON_DEPTH},
        {200000, false, ST_JSON_DEPTH},
    };
    static const char opens[] = {'[', '{'};

    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        char *text = nested(cases[i / 2].depth, opens[i % 2], cases[i / 2].leaf), name[64];

        snprintf(name, sizeof(name), "%d levels of %c, leaf %d", cases[i / 2].depth, opens[i % 2],
                 cases[i / 2].leaf);
        expect(name, text, strlen(text), cases[i / 2].status);
        free(text);
    }
}

/* Guards that json-c takes the last of two like keys, as jsonb does. */
Test(event, last_of_two_keys)
{
    static const char text[] = "{\"id\":\"first\",\"type\":\"a\",\"livemode\":true,\"id\":\"last\","
                               "\"type\":\"b\",\"livemode\":false}";
    struct parsed p;

    parse(&p, text, sizeof(text) - 1);
    cr_assert_eq(p.status, ST_OK, "%s", status_word(p.status));
    cr_expect_str_eq(p.event.id, "last");
    cr_expect_str_eq(p.event.type, "b");
    cr_expect_eq(p.event.livemode, 0);
    release(&p);
    expect("a good id, then a bad one", TEXT("{\"id\":\"e\",\"type\":\"t\",\"id\":1}"),
           ST_EVENT_ID);
}

/* Guards that an event without an object has none, whatever stands in its place. */
Test(event, object)
{
    static const struct {
        const char *fields;
        bool object;
    } cases[] = {
        {"", false},
        {",\"data\":null", false},
        {",\"data\":[]", false},
        {",\"data\":\"object\"", false},
        {",\"data\":{}", false},
        {",\"data\":{\"object\":null}", false},
        {",\"data\":{\"object\":{}}", true},
        {",\"object\":{}", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[256];
        struct parsed p;

        snprintf(text, sizeof(text), "{\"id\":\"e\",\"type\":\"t\"%s}", cases[i].fields);
        parse(&p, text, strlen(text));
        cr_expect_eq(p.status, ST_OK, "%s", text);
        cr_expect_eq(event_object(&p.event) != NULL, cases[i].object, "%s", text);
        release(&p);
    }
}

/* The type that a fixture's name tells: behind its number, without what follows. */
static bool named_by(const char *file, const char *type)
{
    const char *name = strrchr(file, '/') + 1;
    size_t at = 0;

    if (strcmp(name, "unknown.type.json") == 0)
        return strcmp(type, "invoice.some_future_event") == 0;
    if (name[0] >= '0' && name[0] <= '9')
        name = strchr(name, '-') + 1;
    for (; *type != '\0'; type++) {
        if (*type == ']')
            continue;
        if (name[at] != (*type == '[' ? '.' : *type))
            return false;
        at++;
    }
    return name[at] == '.';
}

static void check_fixture(const char *name)
{
    bool thin = strstr(name, "/v2/") != NULL, connect = strstr(name, "/connect/") != NULL;
    struct parsed p;
    struct buf text;

    test_read(name, &text);
    parse(&p, text.data, text.len);
    cr_assert_eq(p.status, ST_OK, "tests/%s: %s", name, status_word(p.status));
    cr_expect_eq(strncmp(p.event.id, "evt_", 4), 0, "tests/%s: id %s", name, p.event.id);
    cr_expect(named_by(name, p.event.type), "tests/%s: type %s", name, p.event.type);
    cr_expect_null(p.event.raw, "tests/%s", name);
    cr_expect_eq(p.event.account != NULL, connect, "tests/%s: account", name);
    cr_expect_geq(p.event.livemode, 0, "tests/%s: livemode", name);
    cr_expect_eq(p.event.created > 0, !thin, "tests/%s: created", name);
    cr_expect_eq(event_object(&p.event) == NULL, thin, "tests/%s: data.object", name);
    release(&p);
    buf_release(&text);
}

/* Guards that events as Stripe sends them are read, thin ones and Connect's among them. */
Test(event, fixtures)
{
    int count = test_each_json("fixtures", check_fixture);

    cr_expect_geq(count, 67, "%d fixtures", count);
}

/* Guards that a worker reads a stored payload as a delivery would, and nothing but objects. */
Test(event, restore)
{
    static const struct {
        const char *payload;
        enum status status;
        int livemode;
        int64_t created;
    } cases[] = {
        {"{\"id\": \"x\", \"livemode\": true, \"created\": 5, \"data\": {\"object\": {}}}", ST_OK,
         1, 5},
        {"{\"created\": \"2025-10-09T08:53:20.246Z\", \"data\": {\"object\": {}}}", ST_OK, -1, 0},
        {"[]", ST_JSON, 0, 0},
        {"null", ST_JSON, 0, 0},
        {"\"{}\"", ST_JSON, 0, 0},
        {"{\"a\": ", ST_JSON, 0, 0},
        {"", ST_JSON, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct event event;
        enum status got =
            event_restore(scheme_find("stripe"), "evt_1", "invoice.paid", cases[i].payload, &event);

        cr_expect_eq(got, cases[i].status, "%s: %s", cases[i].payload, status_word(got));
        if (got == ST_OK) {
            cr_expect_str_eq(event.id, "evt_1", "%s", cases[i].payload);
            cr_expect_str_eq(event.type, "invoice.paid", "%s", cases[i].payload);
            cr_expect_eq(event.livemode, cases[i].livemode, "%s", cases[i].payload);
            cr_expect_eq(event.created, cases[i].created, "%s", cases[i].payload);
            cr_expect_not_null(event_object(&event), "%s", cases[i].payload);
        }
        event_release(&event);
    }
}

/* Guards that releasing a zeroed event is legal, and twice. */
Test(event, release_of_nothing)
{
    struct event event;

    memset(&event, 0, sizeof(event));
    event_release(&event);
    event_release(&event);
    cr_expect_null(event.json);
}
