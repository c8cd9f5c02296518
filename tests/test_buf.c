#include "buf.h"

#include "compiler.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Guards that bytes come out as they went in, NULs too, with a NUL behind them. */
Test(buf, holds_bytes)
{
    struct buf b;

    buf_init(&b, 100);
    cr_assert_null(b.data);
    buf_add(&b, "a\0b", 3);
    buf_text(&b, "cd");
    buf_add(&b, NULL, 0);
    cr_assert_eq(b.len, 5u);
    cr_expect_arr_eq(b.data, "a\0bcd", 6);
    cr_expect_not(buf_failed(&b));
    buf_release(&b);
}

/* Guards that growing keeps what is there and the NUL behind it. */
Test(buf, grows)
{
    struct buf b;

    buf_init(&b, 100000);
    for (size_t i = 0; i < 100000; i++) {
        char c = (char)('a' + i % 26);

        buf_add(&b, &c, 1);
        cr_assert_eq(b.data[b.len], '\0', "no NUL behind %zu bytes", b.len);
        cr_assert_lt(b.len, b.room, "len %zu, room %zu", b.len, b.room);
    }
    cr_assert_not(buf_failed(&b));
    for (size_t i = 0; i < b.len; i++)
        cr_assert_eq(b.data[i], (char)('a' + i % 26), "byte %zu", i);
    buf_release(&b);
}

/* Guards that exactly cap bytes fit, and one more fails. */
Test(buf, cap_is_exact)
{
    static const size_t caps[] = {0, 1, 2, 127, 128, 129, 255, 256, 257, 1000, 70000};

    for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
        char *bytes = calloc(1, caps[i] + 1);
        struct buf b;

        cr_assert_not_null(bytes);
        buf_init(&b, caps[i]);
        buf_add(&b, bytes, caps[i]);
        cr_expect(!buf_failed(&b) && b.len == caps[i], "cap %zu: %zu held", caps[i], b.len);
        buf_add(&b, "x", 1);
        cr_expect(buf_failed(&b) && b.len == caps[i], "cap %zu: one more taken", caps[i]);
        buf_release(&b);
        buf_init(&b, caps[i]);
        buf_add(&b, bytes, caps[i] + 1);
        cr_expect(buf_failed(&b) && b.len == 0, "cap %zu: too many at once", caps[i]);
        buf_release(&b);
        free(bytes);
    }
}

/* Guards that a chain of additions can be checked once: none after a failure holds. */
Test(buf, stays_failed)
{
    struct buf b;

    buf_init(&b, 4);
    buf_text(&b, "abc");
    buf_text(&b, "too long");
    buf_text(&b, "d");
    buf_format(&b, "%d", 1);
    cr_expect_null(buf_space(&b, 0));
    cr_expect(buf_failed(&b));
    cr_expect_str_eq(b.data, "abc");
    buf_release(&b);
    cr_expect_not(buf_failed(&b), "released: it may be used again");
    buf_text(&b, "abcd");
    cr_expect_str_eq(b.data, "abcd");
    buf_release(&b);
}

/* Guards formatting: whole, up to the cap, and never in part. */
Test(buf, formats)
{
    struct buf b;

    buf_init(&b, 10);
    buf_format(&b, "%s=%d", "ab", 12);
    cr_expect_str_eq(b.data, "ab=12");
    buf_format(&b, "%05d", 7);
    cr_expect_str_eq(b.data, "ab=1200007");
    cr_expect_not(buf_failed(&b));
    buf_format(&b, "%s", "");
    cr_expect_not(buf_failed(&b), "nothing more fits, and nothing was added");
    buf_format(&b, "%c", 'x');
    cr_expect(buf_failed(&b));
    cr_expect_str_eq(b.data, "ab=1200007");
    buf_release(&b);
}

/* Guards formatting of more than the first allocation. */
Test(buf, formats_long)
{
    struct buf b;

    buf_init(&b, 5000);
    buf_format(&b, "%4000d|", 5);
    cr_assert_eq(b.len, 4001u);
    cr_expect_str_eq(b.data + 3998, " 5|");
    buf_release(&b);
}

/* Guards filling by the caller: space is not counted before buf_grew says so. */
Test(buf, space_then_grew)
{
    struct buf b;
    char *to;

    buf_init(&b, 8);
    to = buf_space(&b, 8);
    cr_assert_not_null(to);
    cr_expect_eq(b.len, 0u);
    memcpy(to, "12345678", 8);
    buf_grew(&b, 5);
    cr_expect_str_eq(b.data, "12345");
    cr_expect_null(buf_space(&b, 4));
    cr_expect(buf_failed(&b));
    buf_release(&b);
}

/* Guards that a length near SIZE_MAX is refused, not added up. */
Test(buf, no_overflow)
{
    struct buf b;

    buf_init(&b, 100);
    buf_text(&b, "abc");
    cr_expect_null(buf_space(&b, SIZE_MAX));
    cr_expect(buf_failed(&b));
    buf_release(&b);
    buf_text(&b, "abc");
    cr_expect_null(buf_space(&b, SIZE_MAX - 3));
    cr_expect(buf_failed(&b));
    buf_release(&b);
}

/* Guards that release and wipe are legal on a zeroed struct, and twice. */
Test(buf, release_of_nothing)
{
    struct buf b;

    memset(&b, 0, sizeof(b));
    buf_release(&b);
    buf_wipe(&b);
    buf_release(&b);
    cr_expect_null(b.data);
    buf_text(&b, "x");
    cr_expect(buf_failed(&b), "a zeroed buf holds nothing");
    buf_wipe(&b);
}

/* Guards that a wiped buf is empty and keeps its cap. */
Test(buf, wipe_empties)
{
    struct buf b;

    buf_init(&b, 16);
    buf_text(&b, "secret");
    buf_wipe(&b);
    cr_expect_null(b.data);
    cr_expect_eq(b.len, 0u);
    cr_expect_eq(b.room, 0u);
    cr_expect_eq(b.cap, 16u);
}
