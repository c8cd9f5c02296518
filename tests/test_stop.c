#include "stop.h"

#include "clock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int stop_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

TestSuite(stop, .timeout = 30);

/* Everything here happens in a child, so that the test's own signals stay as they are.
 * The child's answer: 0, or the number of the check that failed. */
static int in_child(int (*run)(int sig), int sig)
{
    pid_t child = fork();
    int how;

    if (child == 0) {
        alarm(20);
        _exit(run(sig));
    }
    cr_assert_gt(child, 0);
    cr_assert_eq(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 100 + WTERMSIG(how);
}

/* A descriptor that can be read, or one that cannot. */
static int readable(bool now)
{
    int ends[2];

    if (pipe(ends) != 0 || (now && write(ends[1], "x", 1) != 1))
        _exit(99);
    return ends[0];
}

static int pending_signal(int sig)
{
    int64_t from;

    stop_install();
    raise(sig);
    from = clock_ms();
    if (stop_wait(-1, 10000))
        return 1;
    if (clock_ms() - from > 5000)
        return 2;
    return stop_asked() ? 0 : 3;
}

/* Guards that a signal sent during work is kept back, and seen at once by the next wait. */
Test(stop, pending_signal_ends_the_wait)
{
    for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++) {
        int failed = in_child(pending_signal, stop_signals[i]);

        cr_expect_eq(failed, 0, "signal %d: check %d", stop_signals[i], failed);
    }
}

static int interrupts_nothing(int sig)
{
    const struct timespec t = {0, 30000000};
    pid_t parent = getpid(), child;
    int how;

    stop_install();
    if (stop_asked())
        return 1;
    child = fork();
    if (child == 0) {
        kill(parent, sig);
        _exit(0);
    }
    if (waitpid(child, &how, 0) != child)
        return 2; /* the signal cut a call of ours short */
    if (nanosleep(&t, NULL) != 0)
        return 3;
    return stop_asked() ? 0 : 4;
}

/* Guards that a signal cuts no work short, and is known of all the same between two units. */
Test(stop, pending_signal_interrupts_nothing)
{
    for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++) {
        int failed = in_child(interrupts_nothing, stop_signals[i]);

        cr_expect_eq(failed, 0, "signal %d: check %d", stop_signals[i], failed);
    }
}

static int pending_signal_and_work(int sig)
{
    int fd = readable(true);

    stop_install();
    raise(sig);
    (void)!stop_wait(fd, 10000);
    return stop_asked() ? 0 : 1;
}

/* Guards that a stop is seen under load too, when the next request is always there. */
Test(stop, pending_signal_is_seen_beside_work)
{
    for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++) {
        int failed = in_child(pending_signal_and_work, stop_signals[i]);

        cr_expect_eq(failed, 0, "signal %d is not seen while a descriptor can be read",
                     stop_signals[i]);
    }
}

static int signal_while_waiting(int sig)
{
    int64_t from = clock_ms();
    pid_t parent = getpid();

    stop_install();
    if (fork() == 0) {
        (void)!stop_wait(-1, 100);
        kill(parent, sig);
        _exit(0);
    }
    if (stop_wait(readable(false), 10000))
        return 1;
    if (clock_ms() - from > 5000)
        return 2;
    return stop_asked() ? 0 : 3;
}

/* Guards that an idle process stops when it is asked to. */
Test(stop, signal_ends_a_wait)
{
    for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++) {
        int failed = in_child(signal_while_waiting, stop_signals[i]);

        cr_expect_eq(failed, 0, "signal %d: check %d", stop_signals[i], failed);
    }
}

static int blocked_by_the_parent(int sig)
{
    sigset_t block;

    sigemptyset(&block);
    sigaddset(&block, sig);
    sigprocmask(SIG_BLOCK, &block, NULL);
    return pending_signal(sig);
}

/* Guards that a signal that the parent had blocked is heard all the same. */
Test(stop, signal_blocked_by_the_parent)
{
    for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++) {
        int failed = in_child(blocked_by_the_parent, stop_signals[i]);

        cr_expect_eq(failed, 0, "signal %d: check %d", stop_signals[i], failed);
    }
}

static int stays_asked(int sig)
{
    int fd = readable(true);

    stop_install();
    raise(sig);
    (void)!stop_wait(-1, 1000);
    if (stop_wait(fd, 1000))
        return 1;
    return stop_asked() ? 0 : 2;
}

/* Guards that no further work is begun once a stop was asked for. */
Test(stop, stays_asked)
{
    cr_expect_eq(in_child(stays_asked, SIGTERM), 0);
}

static int times_out(int timeout_ms)
{
    int fd = readable(false);
    int64_t from, took;

    stop_install();
    from = clock_ms();
    if (stop_wait(-1, timeout_ms))
        return 1;
    if (stop_wait(fd, timeout_ms))
        return 2;
    took = clock_ms() - from;
    if (took < 2 * timeout_ms - 2)
        return 3;
    if (took > 2 * timeout_ms + 3000)
        return 4;
    return stop_asked() ? 5 : 0;
}

/* Guards that the time-out ends a wait, in milliseconds, and is no stop. */
Test(stop, times_out)
{
    static const int times[] = {0, 1, 60, 1020};

    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        int failed = in_child(times_out, times[i]);

        cr_expect_eq(failed, 0, "%d ms: check %d", times[i], failed);
    }
}

static int can_be_read(int timeout_ms)
{
    int fd = readable(true);

    stop_install();
    return stop_wait(fd, timeout_ms) && !stop_asked() ? 0 : 1;
}

/* Guards that a request that is there is taken, whatever the time-out. */
Test(stop, readable)
{
    static const int times[] = {-1, 0, 1000};

    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        cr_expect_eq(in_child(can_be_read, times[i]), 0, "time-out %d", times[i]);
}

static int broken_pipe(int sig UNUSED)
{
    int ends[2];

    stop_install();
    if (pipe(ends) != 0)
        return 1;
    close(ends[0]);
    return write(ends[1], "x", 1) == -1 && errno == EPIPE ? 0 : 2;
}

/* Guards that a web server that went away does not end the process. */
Test(stop, ignores_sigpipe)
{
    cr_expect_eq(in_child(broken_pipe, 0), 0);
}
