/* worker.h: the loop over claim.h. worker_drain works what is due within a budget and
 * returns (a responder after its answer, cron); worker_run is one worker's life. Both
 * finish the receipt in hand and give back what they claimed and did not begin. */
#ifndef HOOKONCE_WORKER_H
#define HOOKONCE_WORKER_H

#include "claim.h"
#include "compiler.h"
#include "db.h"
#include "status.h"
#include <stdint.h>

#define WORKER_POLL_MS 210 /* between two questions while nothing is due */

struct worker {
    struct db *db;
    const struct claim_policy *policy;
    int turn_fd;      /* only the idle worker that holds its lock polls; -1: no lock */
    bool drain;       /* end when nothing is due */
    int64_t until_ms; /* begin nothing after this point (clock.h); INT64_MAX: no end */
};

/* Claims once and works what was claimed; *count says how many that were. The name is
 * the article's. */
enum status process_next(const struct worker *w, int *count) MUST_CHECK;

/* Works until nothing is due, the time is up, or a stop is asked for. */
enum status worker_drain(const struct worker *w) MUST_CHECK;

/* Works until a stop is asked for, or as drain and until_ms say; waits for work and for
 * the database. The status of the last failure to reach the database, when drain ended
 * with one. */
enum status worker_run(const struct worker *w) MUST_CHECK;

#endif
