#include "jsontext.h"

#include "compiler.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(literal) (literal), sizeof(literal) - 1

/* Checks a text that lies in a block of exactly its size. */
static enum status check(const char *text, size_t len, struct buf *fixed)
{
    char *exact = malloc(len > 0 ? len : 1);
    enum status status;

    cr_assert_not_null(exact);
    memcpy(exact, text, len);
    buf_init(fixed, len);
    status = jsontext_check(exact, len, fixed);
    free(exact);
    return status;
}

struct token_case {
    const char *text;
    size_t len;
};

static void expect_all(const struct token_case *cases, size_t count, enum status want)
{
    for (size_t i = 0; i < count; i++) {
        struct buf fixed;
        enum status got = check(cases[i].text, cases[i].len, &fixed);

        cr_expect_eq(got, want, "case %zu (%s): %s", i, cases[i].text, status_word(got));
        cr_expect_eq(fixed.len, 0u, "case %zu (%s): replaced", i, cases[i].text);
        buf_release(&fixed);
    }
}

/* Guards promise 1: what RFC 8259 allows is not refused, and stays as it came. */
Test(jsontext, good_tokens)
{
    static const struct token_case cases[] = {
        {TEXT("")},
        {TEXT("{}")},
        {TEXT(" \t\r\n{ } \t\r\n")},
        {TEXT("0")},
        {TEXT("-0")},
        {TEXT("10")},
        {TEXT("-1234567890")},
        {TEXT("0.0")},
        {TEXT("0.10")},
        {TEXT("1.5")},
        {TEXT("1e5")},
        {TEXT("1E5")},
        {TEXT("1e+5")},
        {TEXT("1e-5")},
        {TEXT("1e05")},
        {TEXT("0e0")},
        {TEXT("-1.25E-3")},
        {TEXT("18446744073709551616")},
        {TEXT("true")},
        {TEXT("false")},
        {TEXT("null")},
        {TEXT("[true,false,null]")},
        {TEXT("[1,2]")},
        {TEXT("{\"a\":1,\"b\":[-2,3.5]}")},
        {TEXT("\"\"")},
        {TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"")},
        {TEXT("\"\\u0001\\u007f\\u00e4\\uffff\\uFFFD\\uaBcD\"")},
        {TEXT("\"\\ud83d\\ude00\"")},
        {TEXT("\"\\uD83D\\uDE00\"")},
        {TEXT("\"\\ud800\\udc00\\udbff\\udfff\"")},
        {TEXT("\"\\\\u0000\"")},
        {TEXT("\"\x7f\"")},
        {TEXT("\"\xc2\x80\xdf\xbf\"")},
        {TEXT("\"\xe0\xa0\x80\xec\xbf\xbf\xed\x80\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"")},
        {TEXT("\"\xf0\x90\x80\x80\xf1\x80\x80\x80\xf4\x8f\xbf\xbf\"")},
        {TEXT("\"\xef\xbb\xbf\"")},
        {TEXT("{\"\":\"\"}")},
    };

    expect_all(cases, ARRAY_LEN(cases), ST_OK);
}

/* Guards that json-c's leniency does not let through what jsonb refuses for ever. */
Test(jsontext, bad_tokens)
{
    static const struct token_case cases[] = {
        {TEXT("[1,]")},
        {TEXT("[1 , ]")},
        {TEXT("{\"a\":1,}")},
        {TEXT("01")},
        {TEXT("-01")},
        {TEXT("00")},
        {TEXT("1.")},
        {TEXT("1.e5")},
        {TEXT(".5")},
        {TEXT("-.5")},
        {TEXT("+1")},
        {TEXT("-")},
        {TEXT("--1")},
        {TEXT("1e")},
        {TEXT("1e+")},
        {TEXT("1e-")},
        {TEXT("1e5.5")},
        {TEXT("e5")},
        {TEXT("0x10")},
        {TEXT("1_000")},
        {TEXT("1a")},
        {TEXT("1.2.3")},
        {TEXT("NaN")},
        {TEXT("nan")},
        {TEXT("-NaN")},
        {TEXT("Infinity")},
        {TEXT("-Infinity")},
        {TEXT("inf")},
        {TEXT("True")},
        {TEXT("TRUE")},
        {TEXT("tRue")},
        {TEXT("False")},
        {TEXT("Null")},
        {TEXT("NULL")},
        {TEXT("nil")},
        {TEXT("tru")},
        {TEXT("truex")},
        {TEXT("nulll")},
        {TEXT("undefined")},
        {TEXT("'a'")},
        {TEXT("a")},
        {TEXT("// x\n1")},
        {TEXT("/* x */ 1")},
        {TEXT("# x")},
        {TEXT("1;")},
        {TEXT("(1)")},
        {TEXT("\v1")},
        {TEXT("\f1")},
        {TEXT("\xc2\xa0"
              "1")},
    };

    expect_all(cases, ARRAY_LEN(cases), ST_JSON);
}

/* Guards that values that touch are none: 01 is not 0 and 1. */
Test(jsontext, adjacent_values)
{
    static const struct token_case cases[] = {
        {TEXT("1\"a\"")},    {TEXT("\"a\"1")}, {TEXT("\"a\"\"b\"")}, {TEXT("truefalse")},
        {TEXT("true1")},     {TEXT("1true")},  {TEXT("1[")},         {TEXT("1{")},
        {TEXT("\"a\"{")},    {TEXT("null[")},  {TEXT("1-1")},        {TEXT("0-0")},
        {TEXT("\"a\"true")}, {TEXT("0.5.5")},
    };

    expect_all(cases, ARRAY_LEN(cases), ST_JSON);
}

/* Guards strings: no raw control character, no unknown or cut escape, no missing end. */
Test(jsontext, bad_strings)
{
    static const struct token_case cases[] = {
        {TEXT("\"")},
        {TEXT("\"a")},
        {TEXT("\"a\nb\"")},
        {TEXT("\"a\tb\"")},
        {TEXT("\"\r\"")},
        {TEXT("\"\x1f\"")},
        {TEXT("\"\x01\"")},
        {TEXT("\"\\")},
        {TEXT("\"\\\"")},
        {TEXT("\"\\a\"")},
        {TEXT("\"\\x41\"")},
        {TEXT("\"\\'\"")},
        {TEXT("\"\\0\"")},
        {TEXT("\"\\U0041\"")},
        {TEXT("\"\\N\"")},
        {TEXT("\"\\ \"")},
        {TEXT("\"\\u\"")},
        {TEXT("\"\\u1\"")},
        {TEXT("\"\\u12\"")},
        {TEXT("\"\\u123\"")},
        {TEXT("\"\\u123g\"")},
        {TEXT("\"\\u 123\"")},
        {TEXT("\"\\u+123\"")},
        {TEXT("\"\\u-123\"")},
        {TEXT("\"\\u0x12\"")},
        {TEXT("\"\\u00")},
        {TEXT("\"\\ud83d\\u")},
        {TEXT("\"\\ud83d\\uzzzz\"")},
        {TEXT("\"\\ud83d\\x\"")},
        {TEXT("\"\\\n\"")},
        {TEXT("\"\\u00@0\"")},
        {TEXT("\"\\u00`0\"")},
        {TEXT("\"\\u00/0\"")},
        {TEXT("\"\\u00:0\"")},
        {TEXT("\"\\u00G0\"")},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf fixed;
        enum status got = check(cases[i].text, cases[i].len, &fixed);

        cr_expect_eq(got, ST_JSON, "case %zu (%s): %s", i, cases[i].text, status_word(got));
        buf_release(&fixed);
    }
}

/* Guards that bytes which are no UTF-8 are refused as jsonb refuses them. */
Test(jsontext, bad_utf8)
{
    static const struct {
        const char *name;
        struct token_case text;
    } cases[] = {
        {"a continuation alone", {TEXT("\"\x80\"")}},
        {"the last continuation alone", {TEXT("\"\xbf\"")}},
        {"overlong NUL", {TEXT("\"\xc0\x80\"")}},
        {"overlong of two bytes", {TEXT("\"\xc1\xbf\"")}},
        {"overlong of three bytes", {TEXT("\"\xe0\x9f\xbf\"")}},
        {"overlong NUL of three bytes", {TEXT("\"\xe0\x80\x80\"")}},
        {"overlong of four bytes", {TEXT("\"\xf0\x8f\xbf\xbf\"")}},
        {"the first surrogate", {TEXT("\"\xed\xa0\x80\"")}},
        {"the last surrogate", {TEXT("\"\xed\xbf\xbf\"")}},
        {"a pair of surrogates", {TEXT("\"\xed\xa0\xbd\xed\xb8\x80\"")}},
        {"above U+10FFFF", {TEXT("\"\xf4\x90\x80\x80\"")}},
        {"far above", {TEXT("\"\xf5\x80\x80\x80\"")}},
        {"five bytes", {TEXT("\"\xf8\x88\x80\x80\x80\"")}},
        {"six bytes", {TEXT("\"\xfc\x84\x80\x80\x80\x80\"")}},
        {"fe", {TEXT("\"\xfe\"")}},
        {"ff", {TEXT("\"\xff\"")}},
        {"cut after one of two", {TEXT("\"\xc3\"")}},
        {"cut after two of three", {TEXT("\"\xe2\x82\"")}},
        {"cut after three of four", {TEXT("\"\xf0\x9f\x98\"")}},
        {"cut by the end", {TEXT("\"\xc3")}},
        {"cut by the end, three", {TEXT("\"\xe2\x82")}},
        {"cut by the end, four", {TEXT("\"\xf0\x9f\x98")}},
        {"the second byte is a letter",
         {TEXT("\"\xc3"
               "a\"")}},
        {"the third byte is a letter",
         {TEXT("\"\xe2\x82"
               "a\"")}},
        {"the fourth byte is a lead", {TEXT("\"\xf0\x9f\x98\xc3\xa4\"")}},
        {"Latin-1", {TEXT("\"M\xfcller\"")}},
        {"in a key", {TEXT("{\"\xff\":1}")}},
        {"outside a string", {TEXT("\xc3\xa4")}},
        {"a byte order mark", {TEXT("\xef\xbb\xbf{}")}},
        {"UTF-16", {TEXT("\xff\xfe{\0}\0")}},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf fixed;
        enum status got = check(cases[i].text.text, cases[i].text.len, &fixed);

        cr_expect_eq(got, ST_JSON, "%s: %s", cases[i].name, status_word(got));
        cr_expect_eq(fixed.len, 0u, "%s: replaced", cases[i].name);
        buf_release(&fixed);
    }
}

/* Guards that a NUL, where json-c would stop without a word, is refused at any place. */
Test(jsontext, nul_anywhere)
{
    static const char text[] = "{\"id\":\"a\\n\\u00e4\xc3\xa4\",\"n\":-1.5e3,\"t\":[true,null]} ";
    const size_t len = sizeof(text) - 1;
    char with[sizeof(text) + 1];
    struct buf fixed;

    cr_assert_eq(check(text, len, &fixed), ST_OK);
    for (size_t at = 0; at <= len; at++) {
        memcpy(with, text, at);
        with[at] = '\0';
        memcpy(with + at + 1, text + at, len - at);
        cr_expect_eq(check(with, len + 1, &fixed), ST_JSON, "before byte %zu", at);
        buf_release(&fixed);
    }
    for (size_t at = 0; at < len; at++) {
        memcpy(with, text, len);
        with[at] = '\0';
        cr_expect_eq(check(with, len, &fixed), ST_JSON, "instead of byte %zu", at);
        buf_release(&fixed);
    }
}

/* Guards promise 1: what is JSON but no jsonb is replaced, in place, and nothing else. */
Test(jsontext, replaces)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"\"\\u0000\"", "\"\\ufffd\""},
        {"\"a\\u0000b\\u0000\"", "\"a\\ufffdb\\ufffd\""},
        {"{\"a\\u0000b\": 1}", "{\"a\\ufffdb\": 1}"},
        {"\"\\ud800\"", "\"\\ufffd\""},
        {"\"\\uDBFF\"", "\"\\ufffd\""},
        {"\"\\udc00\"", "\"\\ufffd\""},
        {"\"\\uDFFF\"", "\"\\ufffd\""},
        {"\"\\ud83dx\"", "\"\\ufffdx\""},
        {"\"\\ud83d\\n\"", "\"\\ufffd\\n\""},
        {"\"\\ud83d\\u0041\"", "\"\\ufffd\\u0041\""},
        {"\"\\ud83d\\u0000\"", "\"\\ufffd\\ufffd\""},
        {"\"\\ud83d\\ud83d\"", "\"\\ufffd\\ufffd\""},
        {"\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\""},
        {"\"\\ud83d\\ude00\\ude00\"", "\"\\ud83d\\ude00\\ufffd\""},
        {"\"\\ude00\\ud83d\"", "\"\\ufffd\\ufffd\""},
        {"\"\\ud83d\\ue000\"", "\"\\ufffd\\ue000\""},
        {"\"\\ud83d\\udbff\"", "\"\\ufffd\\ufffd\""},
        {"\"\\\\\\u0000\"", "\"\\\\\\ufffd\""},
        {"[\"\\u0000\", \"\xc3\xa4\", 1.50, \"\\u00e4\" ]",
         "[\"\\ufffd\", \"\xc3\xa4\", 1.50, \"\\u00e4\" ]"},
        {"1e999999", "null    "},
        {"-1e999999", "null     "},
        {"1e-999999", "null     "},
        {"1E+999999", "null     "},
        {"1e99999999999999999999", "null                  "},
        {"1e-99999999999999999999", "null                   "},
        {"0.1e131000", "null      "},
        {"{\"a\":1e131000,\"b\":1}", "{\"a\":null    ,\"b\":1}"},
        {"[1e-16384]", "[null    ]"},
        {"[0.1e-16383]", "[null      ]"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i].from);
        struct buf fixed;
        enum status got = check(cases[i].from, len, &fixed);

        cr_assert_eq(strlen(cases[i].to), len, "%s: the case is wrong", cases[i].from);
        cr_expect_eq(got, ST_OK, "%s: %s", cases[i].from, status_word(got));
        cr_assert_eq(fixed.len, len, "%s: %zu bytes", cases[i].from, fixed.len);
        cr_expect_str_eq(fixed.data, cases[i].to, "%s: %s", cases[i].from, fixed.data);
        buf_release(&fixed);
    }
}

/* Guards that numbers up to numeric's range are left alone. */
Test(jsontext, keeps_numbers_within_range)
{
    static const struct token_case cases[] = {
        {TEXT("1e399")},    {TEXT("1e-400")},
        {TEXT("0.1e-399")}, {TEXT("1e000000000000000000000000000005")},
        {TEXT("-1e399")},   {TEXT("1.5e399")},
    };

    expect_all(cases, ARRAY_LEN(cases), ST_OK);
}

/* A number of digits before and behind its point; the caller frees it. */
static char *long_number(size_t whole, size_t fraction, size_t *len)
{
    char *text = malloc(whole + fraction + 2);

    cr_assert_not_null(text);
    memset(text, '7', whole + fraction + 1);
    if (fraction > 0)
        text[whole] = '.';
    *len = whole + (fraction > 0 ? fraction + 1 : 0);
    text[*len] = '\0';
    return text;
}

/* Guards that a number too long for numeric does not fail in the database for ever. */
Test(jsontext, long_numbers)
{
    static const struct {
        size_t whole, fraction;
        bool kept;
    } cases[] = {
        {131000, 0, true}, {131001, 0, false},    {200000, 0, false}, {1, 16383, true},
        {1, 16384, false}, {131000, 16383, true}, {1, 200000, false}, {131001, 1, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf fixed;
        size_t len;
        char *text = long_number(cases[i].whole, cases[i].fraction, &len);

        cr_expect_eq(check(text, len, &fixed), ST_OK, "case %zu", i);
        cr_expect_eq(fixed.len, cases[i].kept ? 0u : len, "case %zu: %zu", i, fixed.len);
        if (fixed.len > 0)
            cr_expect(strncmp(fixed.data, "null ", 5) == 0 &&
                          strspn(fixed.data + 4, " ") == len - 4,
                      "case %zu: %.20s", i, fixed.data);
        buf_release(&fixed);
        free(text);
    }
}

/* Guards that the rest of a text keeps every byte, whatever is replaced round it. */
Test(jsontext, keeps_the_rest)
{
    static const char from[] =
        "{\r\n\t\"k\\u0000\" : 12345678901234567890.10 , \"\xf0\x9f\x98\x80\":\"\\ud800\",\"e\":1e9}";
    static const char to[] =
        "{\r\n\t\"k\\ufffd\" : 12345678901234567890.10 , \"\xf0\x9f\x98\x80\":\"\\ufffd\",\"e\":1e9}";
    struct buf fixed;

    cr_assert_eq(check(from, sizeof(from) - 1, &fixed), ST_OK);
    cr_expect_eq(fixed.len, sizeof(from) - 1);
    cr_expect_str_eq(fixed.data, to, "%s", fixed.data);
    buf_release(&fixed);
}

/* Guards that a replacement without memory for it is no success. */
Test(jsontext, no_room)
{
    static const char text[] = "\"\\u0000\"";
    struct buf fixed;

    buf_init(&fixed, 3);
    cr_expect_eq(jsontext_check(text, sizeof(text) - 1, &fixed), ST_NOMEM);
    cr_expect_eq(fixed.len, 0u);
    buf_release(&fixed);
}
