/* supervise.h: several processes that do the same, kept alive.
 * The parent forks them, starts one that dies again after a delay that doubles while it
 * keeps dying, and on a stop ends them and waits. It opens no session itself: whatever
 * the children need they make after the fork. */
#ifndef HOOKONCE_SUPERVISE_H
#define HOOKONCE_SUPERVISE_H

#include "compiler.h"
#include "status.h"
#include <stdbool.h>

#define SUPERVISE_JOBS_MAX 256

struct supervised {
    int jobs;
    bool restart; /* false: a child's end is final (drain) */
    enum status (*run)(void *self, int job);
    void *self;
};

/* Returns when a stop was asked for and all children have ended, or, without restart,
 * when all have ended: the worst of their statuses. */
enum status supervise(const struct supervised *s) MUST_CHECK;

#endif
