/* stop.h: being asked to stop.
 * TERM, INT, HUP and USR1 set one flag. They are blocked from stop_install on and
 * arrive only inside stop_wait: between units of work, never in the middle of one,
 * so a request or a row in hand is always finished, and none comes between the test
 * of the flag and the wait. */
#ifndef HOOKONCE_STOP_H
#define HOOKONCE_STOP_H

#include "compiler.h"
#include "status.h"
#include <stdbool.h>

/* Blocks the four signals, sets their handlers, ignores SIGPIPE. */
void stop_install(void);
/* Whether a stop was asked for, also while its signal is still blocked. */
bool stop_asked(void);
/* Waits until fd can be read (fd < 0: only for the time). Returns false when the wait
 * ended without it: a stop, or the time-out. timeout_ms < 0: without end. */
bool stop_wait(int fd, int timeout_ms) MUST_CHECK;

#endif
