#include "supervise.h"

#include "clock.h"
#include "log.h"
#include "stop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 200, DELAY_FIRST_MS = 1000, DELAY_MAX_MS = 30000, STEADY_MS = 60000 };

struct child {
    pid_t pid;     /* 0: none runs */
    int64_t began; /* clock.h, milliseconds */
    int64_t next;  /* when it may be started again */
    int delay_ms;
    bool over; /* ended, and is not started again */
};

static void start(const struct supervised *s, struct child *child, int job)
{
    pid_t parent = getpid(), pid = fork();

    child->began = clock_ms();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* a parent killed with -9 leaves no orphans */
        _exit(getppid() != parent ? 0 : (int)s->run(s->self, job));
    }
    child->pid = pid > 0 ? pid : 0;
    child->next = clock_ms() + DELAY_FIRST_MS; /* if fork failed */
    if (pid < 0)
        log_say("a worker could not be started: %s", strerror(errno));
}

static void ended(const struct supervised *s, struct child *child, int job, int code,
                  enum status *worst)
{
    enum status status = WIFEXITED(code) ? (enum status)WEXITSTATUS(code) : ST_INTERNAL;

    child->pid = 0;
    child->over = !s->restart || stop_asked();
    if (child->over) {
        if (status != ST_OK)
            *worst = status;
        return;
    }
    if (clock_ms() - child->began > STEADY_MS)
        child->delay_ms = 0;
    child->delay_ms = child->delay_ms == 0 ? DELAY_FIRST_MS : child->delay_ms * 2;
    if (child->delay_ms > DELAY_MAX_MS)
        child->delay_ms = DELAY_MAX_MS;
    child->next = clock_ms() + child->delay_ms;
    if (WIFSIGNALED(code))
        log_say("worker %d was ended by signal %d: started again in %d s", job, WTERMSIG(code),
                child->delay_ms / 1000);
    else
        log_say("worker %d ended (%s): started again in %d s", job, status_word(status),
                child->delay_ms / 1000);
}

static void reap(const struct supervised *s, struct child *children, enum status *worst)
{
    pid_t pid;
    int code;

    while ((pid = waitpid(-1, &code, WNOHANG)) > 0) {
        for (int job = 0; job < s->jobs; job++) {
            if (children[job].pid == pid)
                ended(s, &children[job], job, code, worst);
        }
    }
}

/* Starts those that are due. Returns whether any runs or is still to be started. */
static bool tend(const struct supervised *s, struct child *children)
{
    bool any = false;

    for (int job = 0; job < s->jobs; job++) {
        struct child *child = &children[job];

        if (child->pid == 0 && !child->over && !stop_asked() && clock_ms() >= child->next)
            start(s, child, job);
        any = any || child->pid != 0 || (!child->over && !stop_asked());
    }
    return any;
}

enum status supervise(const struct supervised *s)
{
    struct child children[SUPERVISE_JOBS_MAX];
    enum status worst = ST_OK;
    bool told = false;

    memset(children, 0, sizeof(children));
    while (tend(s, children)) {
        if (stop_asked()) {
            for (int job = 0; job < s->jobs && !told; job++) {
                if (children[job].pid != 0)
                    kill(children[job].pid, SIGTERM);
            }
            told = true;
            clock_jitter(20, 50, INT64_MAX);
        } else {
            (void)!stop_wait(-1, LOOK_MS);
        }
        reap(s, children, &worst);
    }
    return worst;
}
