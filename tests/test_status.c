#include "status.h"

#include "compiler.h"

#include <criterion/criterion.h>
#include <string.h>

/* What the design's table of answers says, and the exit codes. */
static const struct {
    enum status status;
    int http;
    int exit_code;
    bool retry;
} wanted[] = {
    {ST_OK, 200, 0, false},
    {ST_METHOD, 405, 1, false},
    {ST_PATH, 404, 1, false},
    {ST_LENGTH_MISSING, 411, 1, false},
    {ST_LENGTH, 400, 1, false},
    {ST_TOO_LARGE, 413, 1, false},
    {ST_ENCODING, 415, 1, false},
    {ST_BODY_SHORT, 400, 1, false},
    {ST_BODY_LONG, 400, 1, false},
    {ST_BODY_SLOW, 400, 1, false},
    {ST_SIG_MISSING, 400, 1, false},
    {ST_SIG_MALFORMED, 400, 1, false},
    {ST_SIG_T_TWICE, 400, 1, false},
    {ST_SIG_FORGED, 400, 1, false},
    {ST_SIG_STALE, 400, 1, false},
    {ST_SIG_EARLY, 400, 1, false},
    {ST_SIG_BODY, 400, 1, false},
    {ST_JSON, 400, 1, false},
    {ST_JSON_DEPTH, 400, 1, false},
    {ST_JSON_OBJECT, 400, 1, false},
    {ST_FORM, 400, 1, false},
    {ST_EVENT_ID, 400, 1, false},
    {ST_EVENT_TYPE, 400, 1, false},
    {ST_EVENT_ACCOUNT, 400, 1, false},
    {ST_DB_DOWN, 503, 4, true},
    {ST_DB_LOST, 503, 4, true},
    {ST_DB_RETRY, 503, 4, true},
    {ST_DB_TIMEOUT, 503, 4, false},
    {ST_DB_SQL, 500, 4, false},
    {ST_DB_SCHEMA, 500, 4, false},
    {ST_DB_CHARSET, 500, 4, false},
    {ST_PARK, 200, 1, false},
    {ST_CONF, 500, 3, false},
    {ST_NOMEM, 500, 1, false},
    {ST_INTERNAL, 500, 1, false},
    {ST_IO, 500, 1, false},
    {ST_USAGE, 500, 2, false},
    {ST_REFUSED, 500, 1, false},
    {ST_CHECK_WARNING, 500, 1, false},
    {ST_CHECK_CRITICAL, 500, 2, false},
    {ST_CHECK_UNKNOWN, 500, 3, false},
};

/* Guards that a new status cannot be forgotten here. */
Test(status, every_one_is_listed)
{
    cr_assert_eq(ARRAY_LEN(wanted), (size_t)ST_COUNT);
    for (int s = 0; s < ST_COUNT; s++)
        cr_expect_eq((int)wanted[s].status, s, "row %d is %s", s, status_word(wanted[s].status));
}

/* Guards promise 1: what is ours to mend is 5xx, so that the provider sends again. */
Test(status, http_exit_and_retry)
{
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        enum status s = wanted[i].status;
        const char *word = status_word(s);

        cr_expect_eq(status_http(s), wanted[i].http, "%s: HTTP %d", word, status_http(s));
        cr_expect_eq(status_exit(s), wanted[i].exit_code, "%s: exit %d", word, status_exit(s));
        cr_expect_eq(status_retry(s), wanted[i].retry, "%s: retry", word);
    }
}

/* Guards that every status has a word that can stand in JSON and in a log line. */
Test(status, words_are_plain)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz_0123456789";

    for (int s = 0; s < ST_COUNT; s++) {
        const char *word = status_word((enum status)s);

        cr_assert_not_null(word, "status %d has no word", s);
        cr_expect(word[0] != '\0' && word[strspn(word, plain)] == '\0', "status %d: %s", s, word);
    }
}

/* Guards that a word in the log names one cause. */
Test(status, words_are_unique)
{
    for (int s = 0; s < ST_COUNT; s++) {
        for (int other = 0; other < s; other++)
            cr_expect_str_neq(status_word((enum status)s), status_word((enum status)other),
                              "%d and %d", s, other);
    }
}

/* Guards that every status has a sentence for people, without a final full stop. */
Test(status, texts_are_sentences)
{
    for (int s = 0; s < ST_COUNT; s++) {
        const char *text = status_text((enum status)s);

        cr_assert(text != NULL && text[0] != '\0', "status %d has no text", s);
        cr_expect_neq(text[strlen(text) - 1], '.', "status %d: %s", s, text);
    }
}

/* Guards that a value from nowhere is a failure of ours, never a success. */
Test(status, out_of_range_is_internal)
{
    static const int odd[] = {-1, ST_COUNT, ST_COUNT + 1, 1 << 20};

    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        cr_expect_str_eq(status_word((enum status)odd[i]), "internal_error", "%d", odd[i]);
        cr_expect_eq(status_http((enum status)odd[i]), 500, "%d", odd[i]);
        cr_expect_eq(status_retry((enum status)odd[i]), false, "%d", odd[i]);
    }
}
