#include "clock.h"

#include <limits.h>
#include <sys/random.h>
#include <time.h>

int64_t clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_wall(void)
{
    return (int64_t)time(NULL);
}

int clock_left(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_ms();

    if (left < 0)
        return 0;
    return left > INT_MAX ? INT_MAX : (int)left;
}

void clock_jitter(int low_ms, int high_ms, int64_t deadline_ms)
{
    unsigned dice = 0;
    int ms;
    struct timespec t;

    if (getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != (ssize_t)sizeof(dice))
        dice = (unsigned)clock_ms();
    ms = low_ms + (int)(dice % (unsigned)(high_ms - low_ms + 1));
    if (ms > clock_left(deadline_ms))
        ms = clock_left(deadline_ms);
    t.tv_sec = ms / 1000;
    t.tv_nsec = (long)(ms % 1000) * 1000000;
    nanosleep(&t, NULL);
}
