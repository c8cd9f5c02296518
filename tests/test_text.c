/* text: what people read fits, and cannot drive the terminal. */
#include "text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Ages are readable. */
Test(text, ages)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {{0, "0s"},         {59, "59s"},       {60, "1m 0s"},        {192, "3m 12s"},
                 {3599, "59m 59s"}, {3600, "1h 0m"},   {18120, "5h 2m"},     {86399, "23h 59m"},
                 {86400, "1d 0h"},  {694800, "8d 1h"}, {34560000, "400d 0h"}};
    char age[TEXT_AGE_MAX];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        cr_expect_str_eq(text_age(cases[i].seconds, age), cases[i].text);
}

/* Control characters, marks of direction and broken bytes become "?", the rest stays. */
Test(text, clean)
{
    static const struct {
        const char *from, *to;
        size_t columns;
        int newlines;
    } cases[] = {
        {"plain", "plain", 10, 0},
        {"\x1b[2J\x07", "?[2J?", 10, 0},
        {"a\nb\tc", "a?b?c", 10, 0},
        {"a\nb\tc", "a\nb?c", 10, 1},
        {"\xc2\x9b"
         "31m",
         "?31m", 10, 0},
        {"\xe2\x80\xae"
         "abc",
         "?abc", 10, 0},
        {"gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80",
         "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80", 10, 0},
        {"\xff\xc3(\xe2\x82",
         "?"
         "?(?"
         "?",
         10, 0},
        {"abcdefgh", "abcd\xe2\x80\xa6", 5, 0},
        {"abcde", "abcde", 5, 0},
        {"\xc3\xbc\xc3\xbc\xc3\xbc", "\xc3\xbc\xe2\x80\xa6", 2, 0},
        {"", "", 5, 0},
    };
    char to[64];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        text_clean(to, sizeof(to), cases[i].from, cases[i].columns, cases[i].newlines);
        cr_expect_str_eq(to, cases[i].to, "case %zu: %s", i, to);
    }
}

/* A buffer that is too small is never overrun. */
Test(text, clean_small_buffer)
{
    char to[12];

    memset(to, 'x', sizeof(to));
    text_clean(to, 8, "abcdefghijklmnop", 100, 0);
    cr_expect_lt(strlen(to), 8);
    cr_expect_eq(to[8], 'x');
}

static const char *cell(const void *rows, int row, int column)
{
    const char *const *texts = rows;

    return texts[row * 3 + column];
}

/* Numbers stand right, columns align, a table that is too wide is cut where it may be. */
Test(text, table)
{
    static const char *const texts[] = {"evt_1", "7", "short", "evt_a_very_long_identifier",
                                        "12345", NULL};
    static const struct text_column columns[] = {{"event", 0, 1}, {"n", 1, 0}, {"note", 0, 1}};
    const struct text_rows rows = {cell, texts, 2};
    char *out = NULL;
    size_t len;
    FILE *to = open_memstream(&out, &len);

    cr_assert_not_null(to);
    text_table(to, columns, 3, &rows, 80);
    text_table(to, columns, 3, &rows, 25);
    fclose(to);
    cr_expect_str_eq(out,
                     "event                           n  note\n"
                     "evt_1                           7  short\n"
                     "evt_a_very_long_identifier  12345  \n"
                     "event            n  note\n"
                     "evt_1            7  short\n"
                     "evt_a_very\xe2\x80\xa6  12345  \n",
                     "%s", out);
    free(out);
}
