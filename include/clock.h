/* clock.h: the two clocks, and waiting.
 * Deadlines are points on the monotonic clock in milliseconds. The wall clock judges
 * only the age of a signature; every time that rows are compared by is the database's. */
#ifndef HOOKONCE_CLOCK_H
#define HOOKONCE_CLOCK_H

#include <stdint.h>

/* Milliseconds on the monotonic clock. */
int64_t clock_ms(void);
/* Seconds since 1970 on the wall clock. */
int64_t clock_wall(void);
/* Milliseconds from now to the deadline, 0 when it is past, never more than INT_MAX. */
int clock_left(int64_t deadline_ms);
/* Sleeps between low and high milliseconds, at random, but not past the deadline. */
void clock_jitter(int low_ms, int high_ms, int64_t deadline_ms);

#endif
