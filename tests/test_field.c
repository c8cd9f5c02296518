#include "field.h"

#include <criterion/criterion.h>
#include <json-c/json_tokener.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {[FIELD_OK] = "ok", [FIELD_NONE] = "none", [FIELD_BAD] = "bad"};

/* {"f": VALUE}, read as an event is. The caller puts it. */
static struct json_object *object_with(const char *value)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *object;
    char text[1024];

    snprintf(text, sizeof(text), "{\"f\": %s}", value);
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    object = json_tokener_parse_ex(tokener, text, (int)strlen(text));
    cr_assert_not_null(object, "%s: %s", text,
                       json_tokener_error_desc(json_tokener_get_error(tokener)));
    json_tokener_free(tokener);
    return object;
}

/* Guards promise 8: an amount is a JSON integer within int64, or it is none. The least
 * int64 is refused: json-c clamps what is below it to the same number. */
Test(field, integers_are_exact)
{
    static const struct {
        const char *value;
        enum field field;
        int64_t out;
    } cases[] = {
        {"2000", FIELD_OK, 2000},
        {"0", FIELD_OK, 0},
        {"-0", FIELD_OK, 0},
        {"-1", FIELD_OK, -1},
        {"9007199254740993", FIELD_OK, INT64_C(9007199254740993)},
        {"9223372036854775806", FIELD_OK, INT64_MAX - 1},
        {"9223372036854775807", FIELD_OK, INT64_MAX},
        {"9223372036854775808", FIELD_BAD, 0},
        {"9223372036854775809", FIELD_BAD, 0},
        {"18446744073709551615", FIELD_BAD, 0},
        {"18446744073709551616", FIELD_BAD, 0},
        {"123456789012345678901234567890", FIELD_BAD, 0},
        {"-9223372036854775807", FIELD_OK, -INT64_MAX},
        {"-9223372036854775808", FIELD_BAD, 0},
        {"-9223372036854775809", FIELD_BAD, 0},
        {"-123456789012345678901234567890", FIELD_BAD, 0},
        {"\"2000\"", FIELD_BAD, 0},
        {"20.5", FIELD_BAD, 0},
        {"20.0", FIELD_BAD, 0},
        {"2e3", FIELD_BAD, 0},
        {"2E3", FIELD_BAD, 0},
        {"1e30", FIELD_BAD, 0},
        {"1e400", FIELD_BAD, 0},
        {"true", FIELD_BAD, 0},
        {"false", FIELD_BAD, 0},
        {"[2000]", FIELD_BAD, 0},
        {"{\"f\": 2000}", FIELD_BAD, 0},
        {"null", FIELD_NONE, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_object *object = object_with(cases[i].value);
        int64_t out = 77;
        enum field got = field_int(object, "f", &out);

        cr_expect_eq(got, cases[i].field, "%s: %s", cases[i].value, words[got]);
        if (cases[i].field != FIELD_BAD)
            cr_expect_eq(out, cases[i].out, "%s: %lld", cases[i].value, (long long)out);
        json_object_put(object);
    }
}

/* Guards that only true and false are booleans. */
Test(field, booleans_are_exact)
{
    static const struct {
        const char *value;
        enum field field;
        bool out;
    } cases[] = {
        {"true", FIELD_OK, true},       {"false", FIELD_OK, false},   {"null", FIELD_NONE, false},
        {"\"true\"", FIELD_BAD, false}, {"1", FIELD_BAD, false},      {"0", FIELD_BAD, false},
        {"\"\"", FIELD_BAD, false},     {"[true]", FIELD_BAD, false}, {"{}", FIELD_BAD, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_object *object = object_with(cases[i].value);
        bool out = !cases[i].out;
        enum field got = field_bool(object, "f", &out);

        cr_expect_eq(got, cases[i].field, "%s: %s", cases[i].value, words[got]);
        cr_expect_eq(out, cases[i].out, "%s", cases[i].value);
        json_object_put(object);
    }
}

/* Guards that a text can stand in a row, a log line and a command. */
Test(field, texts)
{
    static const struct {
        const char *value;
        enum field field;
        const char *out;
    } cases[] = {
        {"\"a\"", FIELD_OK, "a"},
        {"\"12345678\"", FIELD_OK, "12345678"},
        {"\"123456789\"", FIELD_BAD, NULL},
        {"\"1234567\\u00e4\"", FIELD_BAD, NULL},
        {"\"123456\\u00e4\"", FIELD_OK, "123456\xc3\xa4"},
        {"\"a b\"", FIELD_OK, "a b"},
        {"\"\\u00a0\"", FIELD_OK, "\xc2\xa0"},
        {"\"\\u0100\"", FIELD_OK, "\xc4\x80"},
        {"\"\"", FIELD_BAD, NULL},
        {"\"a\\u0000b\"", FIELD_BAD, NULL},
        {"\"\\u0000\"", FIELD_BAD, NULL},
        {"\"a\\nb\"", FIELD_BAD, NULL},
        {"\"\\u001f\"", FIELD_BAD, NULL},
        {"\"a\\u007f\"", FIELD_BAD, NULL},
        {"\"\\u0080\"", FIELD_BAD, NULL},
        {"\"a\\u0085b\"", FIELD_BAD, NULL},
        {"\"\\u009f\"", FIELD_BAD, NULL},
        {"1", FIELD_BAD, NULL},
        {"true", FIELD_BAD, NULL},
        {"[\"a\"]", FIELD_BAD, NULL},
        {"{\"f\": \"a\"}", FIELD_BAD, NULL},
        {"null", FIELD_NONE, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_object *object = object_with(cases[i].value);
        const char *out = "unset";
        enum field got = field_text(object, "f", 8, &out);

        cr_expect_eq(got, cases[i].field, "%s: %s", cases[i].value, words[got]);
        cr_expect((out == NULL) == (cases[i].out == NULL), "%s", cases[i].value);
        if (out != NULL && cases[i].out != NULL)
            cr_expect_str_eq(out, cases[i].out, "%s: %s", cases[i].value, out);
        json_object_put(object);
    }
}

/* Guards that a field of nothing, of no object, and of another name is absent. */
Test(field, absent)
{
    static const char *const holders[] = {"null", "[]", "\"f\"", "1", "{}", "{\"F\": 1}"};
    const char *text;
    int64_t number;
    bool flag;

    cr_expect_null(field_get(NULL, "f"));
    for (size_t i = 0; i < ARRAY_LEN(holders); i++) {
        struct json_object *outer = object_with(holders[i]), *holder = field_get(outer, "f");

        cr_expect_null(field_get(holder, "f"), "%s", holders[i]);
        cr_expect_eq(field_int(holder, "f", &number), FIELD_NONE, "%s", holders[i]);
        cr_expect_eq(field_bool(holder, "f", &flag), FIELD_NONE, "%s", holders[i]);
        cr_expect_eq(field_text(holder, "f", 9, &text), FIELD_NONE, "%s", holders[i]);
        json_object_put(outer);
    }
}

/* Guards that null counts as absent, so that callers have one case less. */
Test(field, get)
{
    struct json_object *object = object_with("null"), *other = object_with("false");

    cr_expect_null(field_get(object, "f"));
    cr_expect_not_null(field_get(other, "f"));
    json_object_put(object);
    json_object_put(other);
}
