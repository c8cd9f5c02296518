#include "clock.h"

#include "compiler.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <time.h>

/* Guards that a deadline that is past leaves nothing, and never a negative time-out. */
Test(clock, left_is_never_negative)
{
    const int64_t now = clock_ms();
    const int64_t past[] = {now - 1, now - 1000, 0, -1, INT64_MIN / 2};

    for (size_t i = 0; i < ARRAY_LEN(past); i++)
        cr_expect_eq(clock_left(past[i]), 0, "deadline %lld", (long long)past[i]);
}

/* Guards that what is left is in milliseconds and fits poll's int. */
Test(clock, left_is_bounded)
{
    const int64_t now = clock_ms();
    int left = clock_left(now + 10000);

    cr_expect(left > 8000 && left <= 10000, "left %d of 10000", left);
    cr_expect_eq(clock_left(now + (int64_t)INT_MAX * 4), INT_MAX);
    cr_expect_eq(clock_left(INT64_MAX), INT_MAX);
}

/* Guards that the monotonic clock counts milliseconds and does not go back. */
Test(clock, milliseconds_pass)
{
    const struct timespec t = {0, 50000000};
    int64_t from = clock_ms(), took;

    nanosleep(&t, NULL);
    took = clock_ms() - from;
    cr_expect(took >= 49 && took < 5000, "50 ms took %lld", (long long)took);
}

/* Guards that a signature's age is judged by the wall clock in seconds. */
Test(clock, wall_is_seconds_since_1970)
{
    int64_t off = clock_wall() - (int64_t)time(NULL);

    cr_expect(off >= -1 && off <= 1, "off by %lld", (long long)off);
}

/* Guards that a pause before a further try stays in its bounds and within the deadline. */
Test(clock, jitter_keeps_to_its_bounds, .timeout = 20)
{
    static const struct {
        const char *name;
        int low, high, deadline; /* the deadline from now on */
        int64_t least, most;
    } cases[] = {
        {"between low and high", 40, 60, 10000, 39, 1500},
        {"low is high", 30, 30, 10000, 29, 1500},
        {"the deadline is nearer", 5000, 6000, 40, 35, 2000},
        {"the deadline is past", 5000, 6000, -10, 0, 1500},
        {"no pause", 0, 0, 10000, 0, 1500},
        {"more than a second", 1050, 1050, 10000, 1049, 3000},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t from = clock_ms(), took;

        clock_jitter(cases[i].low, cases[i].high, from + cases[i].deadline);
        took = clock_ms() - from;
        cr_expect(took >= cases[i].least && took <= cases[i].most, "%s: %lld ms", cases[i].name,
                  (long long)took);
    }
}

/* Guards that two that were in each other's way do not pause alike. */
Test(clock, jitter_varies, .timeout = 20)
{
    int64_t least = INT64_MAX, most = 0;

    for (int i = 0; i < 20; i++) {
        int64_t from = clock_ms(), took;

        clock_jitter(1, 60, from + 10000);
        took = clock_ms() - from;
        least = took < least ? took : least;
        most = took > most ? took : most;
    }
    cr_expect(most - least >= 5, "twenty pauses from %lld to %lld ms", (long long)least,
              (long long)most);
}
