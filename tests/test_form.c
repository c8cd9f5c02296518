#include "form.h"

#include "jsontext.h"

#include <criterion/criterion.h>
#include <string.h>

static void parse(const char *text, struct form *form)
{
    cr_assert_eq(form_parse(text, strlen(text), form), ST_OK, "%s", text);
}

/* Guards what is recorded of a form: its fields, exactly, whatever bytes they hold. */
Test(form, json)
{
    static const struct {
        const char *form, *json;
    } cases[] = {
        {"", "{}"},
        {"&&", "{}"},
        {"a=1", "{\"a\":\"1\"}"},
        {"a", "{\"a\":\"\"}"},
        {"=1", "{\"\":\"1\"}"},
        {"b=2&a=1", "{\"a\":\"1\",\"b\":\"2\"}"},
        {"a=2&b=x&a=1&a=3", "{\"a\":[\"2\",\"1\",\"3\"],\"b\":\"x\"}"},
        {"a=1&aa=2&a=3", "{\"a\":[\"1\",\"3\"],\"aa\":\"2\"}"},
        {"a=b=c", "{\"a\":\"b=c\"}"},
        {"a=x+y%20z%2B", "{\"a\":\"x y z+\"}"},
        {"a=100%&b=%4&c=%zz&d=%4x", "{\"a\":\"100%\",\"b\":\"%4\",\"c\":\"%zz\",\"d\":\"%4x\"}"},
        {"a=%22%5C%0a%00", "{\"a\":\"\\\"\\\\\\u000a\\u0000\"}"},
        {"a=%C3%A4%E2%82%AC", "{\"a\":\"\xc3\xa4\xe2\x82\xac\"}"},
        {"a=%C3x%FF%ED%A0%80",
         "{\"a\":\"\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct form form;
        struct buf out, fixed;

        buf_init(&out, 4096);
        buf_init(&fixed, 4096);
        parse(cases[i].form, &form);
        form_json(&form, &out);
        cr_expect_str_eq(out.data, cases[i].json, "%s: %s", cases[i].form, out.data);
        cr_expect_eq(jsontext_check(out.data, out.len, &fixed), ST_OK, "%s", out.data);
        buf_release(&out);
        buf_release(&fixed);
        form_release(&form);
    }
}

/* Guards what Twilio signs: sorted by name and value, each pair once. */
Test(form, sorted)
{
    static const struct {
        const char *form, *text;
    } cases[] = {
        {"B=2&A=1", "A1B2"},     {"a=1&B=2", "B2a1"},   {"A=2&A=1&A=2", "A1A2"},
        {"AB=1&A=B1", "AB1AB1"}, {"A=%2B1+2", "A+1 2"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct form form;
        struct buf out;

        buf_init(&out, 256);
        parse(cases[i].form, &form);
        form_sorted(&form, &out);
        cr_expect_str_eq(out.data, cases[i].text);
        buf_release(&out);
        form_release(&form);
    }
}

Test(form, get)
{
    struct form form;
    const struct form_text *value;

    parse("ab=1&a=2&a=3&c", &form);
    value = form_get(&form, "a");
    cr_assert_not_null(value);
    cr_expect(value->len == 1 && value->at[0] == '2');
    cr_assert_not_null(form_get(&form, "c"));
    cr_expect_eq(form_get(&form, "c")->len, 0u);
    cr_expect_null(form_get(&form, "b"));
    form_release(&form);
    form_release(&form);
}

/* Guards that a flood of fields costs nothing. */
Test(form, limit)
{
    static char text[4 * (FORM_FIELDS_MAX + 1)];
    struct form form;

    for (int i = 0; i < FORM_FIELDS_MAX + 1; i++)
        memcpy(text + 4 * i, "a=1&", 4);
    cr_expect_eq(form_parse(text, 4 * FORM_FIELDS_MAX, &form), ST_OK);
    cr_expect_eq(form.count, (size_t)FORM_FIELDS_MAX);
    form_release(&form);
    cr_expect_eq(form_parse(text, sizeof(text), &form), ST_FORM);
    form_release(&form);
}
