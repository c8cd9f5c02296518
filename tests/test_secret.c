#include "secret.h"

#include <criterion/criterion.h>
#include <string.h>

/* Guards that keys are copies, in the order in which they came, and may hold any byte. */
Test(secret, keeps_copies_in_order)
{
    struct secrets s = {.count = 0};
    char first[] = "first";

    cr_assert_eq(secrets_add(&s, first, 5), ST_OK);
    cr_assert_eq(secrets_add(&s, "a\0b", 3), ST_OK);
    memset(first, 'x', 5);
    cr_assert_eq(s.count, 2);
    cr_expect(s.of[0].len == 5 && memcmp(s.of[0].text, "first", 5) == 0);
    cr_expect(s.of[1].len == 3 && memcmp(s.of[1].text, "a\0b", 3) == 0);
    secrets_release(&s);
}

/* Guards the limit: eight keys, and a ninth is refused without harm to them. */
Test(secret, eight_and_no_more)
{
    struct secrets s = {.count = 0};

    for (int i = 0; i < SECRETS_MAX; i++) {
        char key = (char)('a' + i);

        cr_assert_eq(secrets_add(&s, &key, 1), ST_OK, "key %d", i + 1);
    }
    cr_expect_eq(SECRETS_MAX, 8);
    cr_expect_eq(secrets_add(&s, "ninth", 5), ST_CONF);
    cr_expect_eq(s.count, SECRETS_MAX);
    for (int i = 0; i < s.count; i++)
        cr_expect_eq((int)s.of[i].text[0], 'a' + i, "key %d", i + 1);
    secrets_release(&s);
}

/* Guards promise 5: an empty key would let everybody sign. */
Test(secret, empty_is_refused)
{
    struct secrets s = {.count = 0};

    cr_expect_eq(secrets_add(&s, "", 0), ST_CONF);
    cr_expect_eq(s.count, 0);
    secrets_release(&s);
}

/* Guards that release is legal on a zeroed struct, twice, and leaves it usable. */
Test(secret, release_of_nothing)
{
    struct secrets s;

    memset(&s, 0, sizeof(s));
    secrets_release(&s);
    secrets_release(&s);
    cr_assert_eq(secrets_add(&s, "key", 3), ST_OK);
    secrets_release(&s);
    cr_expect_eq(s.count, 0);
    cr_expect_null(s.of[0].text);
    cr_expect_eq(s.of[0].len, 0u);
}
