#define _GNU_SOURCE /* ppoll */
#include "stop.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static const int stop_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
static volatile sig_atomic_t asked;
static sigset_t while_waiting;

static void on_stop(int sig UNUSED)
{
    asked = 1;
}

void stop_install(void)
{
    struct sigaction act, ignore;
    sigset_t block;

    memset(&act, 0, sizeof(act));
    act.sa_handler = on_stop;
    memset(&ignore, 0, sizeof(ignore));
    ignore.sa_handler = SIG_IGN;
    sigemptyset(&block);
    for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
        sigaddset(&block, stop_signals[i]);
    sigprocmask(SIG_BLOCK, &block, &while_waiting);
    for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++) {
        sigdelset(&while_waiting, stop_signals[i]); /* a parent may have blocked it */
        sigaction(stop_signals[i], &act, NULL);
    }
    sigaction(SIGPIPE, &ignore, NULL);
}

/* Pending ones count too: with something to read at hand ppoll returns without delivering
 * them, so that under load no stop would ever arrive. */
bool stop_asked(void)
{
    sigset_t set;

    if (!asked && sigpending(&set) == 0) {
        for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++) {
            if (sigismember(&set, stop_signals[i]) == 1)
                asked = 1;
        }
    }
    return asked != 0;
}

bool stop_wait(int fd, int timeout_ms)
{
    struct pollfd p = {fd, POLLIN, 0};
    struct timespec t = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};

    if (asked)
        return false;
    return ppoll(&p, fd < 0 ? 0 : 1, timeout_ms < 0 ? NULL : &t, &while_waiting) > 0;
}
