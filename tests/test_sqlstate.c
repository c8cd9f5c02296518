#include "sqlstate.h"

#include "compiler.h"

#include <criterion/criterion.h>
#include <string.h>

/* Guards promise 1: what a repeat may mend is 503 or run again; the rest is 500. */
Test(sqlstate, judges)
{
    static const struct {
        const char *sqlstate;
        enum status status;
    } cases[] = {
        {NULL, ST_DB_LOST},       {"08000", ST_DB_LOST},    {"08006", ST_DB_LOST},
        {"08P01", ST_DB_LOST},    {"57P01", ST_DB_LOST},    {"57P02", ST_DB_LOST},
        {"57P03", ST_DB_LOST},    {"25006", ST_DB_LOST},    {"57014", ST_DB_TIMEOUT},
        {"55P03", ST_DB_TIMEOUT}, {"25P03", ST_DB_TIMEOUT}, {"40001", ST_DB_RETRY},
        {"40P01", ST_DB_RETRY},   {"40003", ST_DB_RETRY},   {"53300", ST_DB_DOWN},
        {"53100", ST_DB_DOWN},    {"53200", ST_DB_DOWN},    {"58030", ST_DB_DOWN},
        {"28P01", ST_DB_DOWN},    {"28000", ST_DB_DOWN},    {"3D000", ST_DB_DOWN},
        {"42P01", ST_DB_SCHEMA},  {"42703", ST_DB_SCHEMA},  {"42501", ST_DB_SCHEMA},
        {"3F000", ST_DB_SCHEMA},  {"23505", ST_DB_SQL},     {"23514", ST_DB_SQL},
        {"22P02", ST_DB_SQL},     {"22003", ST_DB_SQL},     {"42601", ST_DB_SQL},
        {"P0001", ST_DB_SQL},     {"XX000", ST_DB_SQL},     {"25001", ST_DB_SQL},
        {"25P02", ST_DB_SQL},     {"57000", ST_DB_SQL},     {"00000", ST_DB_SQL},
        {"", ST_DB_SQL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum status got = sqlstate_judge(cases[i].sqlstate);

        cr_expect_eq(got, cases[i].status, "%s: %s",
                     cases[i].sqlstate == NULL ? "NULL" : cases[i].sqlstate, status_word(got));
    }
}

/* Guards that a failure is told in one line, and that no payload gets into the log. */
Test(sqlstate, describes)
{
    static const struct {
        const char *sqlstate, *message, *told;
    } cases[] = {
        {"23505", "duplicate key value violates unique constraint \"k\"",
         "23505 duplicate key value violates unique constraint \"k\""},
        {NULL, "server closed the connection unexpectedly\n\tThis probably means\n",
         "----- server closed the connection unexpectedly"},
        {NULL, "", "----- "},
        {"42P01", "relation \"x\" does not exist\nLINE 1: SELECT",
         "42P01 relation \"x\" does not exist"},
        {"42883", "odd: \"kept\"", "42883 odd: \"kept\""},
        {"22P02", "invalid input syntax for type bigint: \"payload\"",
         "22P02 invalid input syntax for type bigint"},
        {"22007", "invalid input syntax for type date: \"a: \"b\"\"",
         "22007 invalid input syntax for type date"},
        {"22P02", "first line\nsecond: \"payload\"", "22P02 first line"},
        {"22012", "division by zero", "22012 division by zero"},
    };
    char out[512];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        sqlstate_describe(cases[i].sqlstate, cases[i].message, out, sizeof(out));
        cr_expect_str_eq(out, cases[i].told, "case %zu: %s", i, out);
    }
}

/* Guards that a value which PostgreSQL quotes in front of the reason is not told either. */
Test(sqlstate, describes_without_a_quoted_value)
{
    static const struct {
        const char *sqlstate, *message;
    } cases[] = {
        {"22003", "value \"4242424242\" is out of range for type integer"},
        {"22003", "\"4242424242\" is out of range for type real"},
        {"22P02", "ung\xc3\xbcltige Eingabesyntax f\xc3\xbcr Typ bigint: \xc2\xbb"
                  "4242424242\xc2\xab"},
        {"22008", "date/time field value out of range: \"4242424242\""},
    };
    char out[512];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        sqlstate_describe(cases[i].sqlstate, cases[i].message, out, sizeof(out));
        cr_expect_null(strstr(out, "4242"), "case %zu: %s", i, out);
        cr_expect_eq(strncmp(out, cases[i].sqlstate, 5), 0, "case %zu: %s", i, out);
    }
}

/* Guards that a long message is cut to the room there is. */
Test(sqlstate, describes_within_room)
{
    char out[16];

    memset(out, '!', sizeof(out));
    sqlstate_describe("42601", "a message that is longer", out, 12);
    cr_expect_str_eq(out, "42601 a mes");
    cr_expect_eq(out[12], '!');
}
