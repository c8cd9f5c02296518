#include "worker.h"

#include "clock.h"
#include "log.h"
#include "stop.h"

#include <inttypes.h>
#include <string.h>
#include <sys/file.h>

enum {
    CLAIM_MS = 10000,       /* for a claim, and for what is due to be told of a failure */
    SWEEP_MS = 10000,       /* between two sweeps */
    BACKOFF_FIRST_MS = 200, /* while the database is away */
    BACKOFF_MAX_MS = 5000,
};

static void log_worked(const struct claims *claims, int i, const struct worked *worked,
                       enum status status, int64_t began)
{
    struct log_line line;

    log_begin(&line);
    log_add(&line, "endpoint", "%s", claim_endpoint(claims, i));
    if (status == ST_OK)
        log_add(&line, "outcome", "%s", outcome_word(worked->outcome));
    else
        log_add(&line, "failed", "%s", status_word(status));
    log_text(&line, "event", claim_event_id(claims, i));
    log_text(&line, "type", claim_event_type(claims, i));
    log_add(&line, "attempt", "%d", claim_attempts(claims, i));
    if (worked->outcome == OUTCOME_PARKED)
        log_text(&line, "parked", worked->parked.why);
    if (worked->error[0] != '\0')
        log_text(&line, "database", worked->error);
    if (worked->rests)
        log_add(&line, "rests", "yes");
    log_add(&line, "ms", "%" PRId64, clock_ms() - began);
    log_end(&line);
}

static bool time_is_up(const struct worker *w)
{
    return stop_asked() || clock_left(w->until_ms) == 0;
}

/* Of several idle workers one polls, the others wait for its lock: so polling costs the
 * same however many there are. The kernel releases it when a worker dies. */
static bool my_turn(const struct worker *w)
{
    return w->turn_fd < 0 || flock(w->turn_fd, LOCK_EX | LOCK_NB) == 0;
}

static void pass_turn(const struct worker *w)
{
    if (w->turn_fd >= 0)
        flock(w->turn_fd, LOCK_UN);
}

/* Claims a batch; where that fails for what is in it (payloads too large together), one. */
static enum status claim(const struct worker *w, struct claims *claims)
{
    struct claim_policy one = *w->policy;
    enum status status = db_ready(w->db);

    if (status == ST_OK)
        status = claim_next(w->db, w->policy, claims);
    if (status != ST_DB_SQL || one.batch == 1)
        return status;
    one.batch = 1;
    return claim_next(w->db, &one, claims);
}

/* Works one claim and tells how it ended; not at all while the database is away. */
static enum status work_one(const struct worker *w, const struct claims *claims, int i)
{
    int64_t began = clock_ms();
    struct worked worked;
    enum status status;

    db_until(w->db, began + w->policy->limits.statement_ms + CLAIM_MS);
    status = db_ready(w->db);
    if (status != ST_OK)
        return status;
    status = process_claimed(w->db, w->policy, claims, i, &worked);
    log_worked(claims, i, &worked, status, began);
    return ST_OK;
}

enum status process_next(const struct worker *w, int *count)
{
    struct claims claims;
    enum status status;
    int64_t last; /* nothing is begun that might outlive its lease */
    int i = 0;

    *count = 0;
    db_until(w->db, clock_ms() + CLAIM_MS);
    status = claim(w, &claims);
    if (status != ST_OK)
        return status;
    if (claims.count > 0)
        pass_turn(w);
    last = clock_ms() + w->policy->lease_seconds * INT64_C(1000) - w->policy->limits.statement_ms;
    while (status == ST_OK && i < claims.count &&
           (i == 0 || (!time_is_up(w) && clock_ms() < last))) {
        status = work_one(w, &claims, i);
        i += status == ST_OK;
    }
    db_until(w->db, clock_ms() + CLAIM_MS);
    if (i < claims.count && db_ready(w->db) == ST_OK)
        claim_give_back(w->db, w->policy, &claims, i);
    *count = i;
    claims_release(&claims);
    return status;
}

static enum status sweep(const struct worker *w)
{
    enum status status;
    int rested;

    db_until(w->db, clock_ms() + CLAIM_MS);
    status = db_ready(w->db);
    if (status == ST_OK)
        status = claim_sweep(w->db, w->policy, &rested);
    if (status == ST_OK && rested > 0)
        log_say("%d receipts are at their attempt limit and rest: see hookonce review", rested);
    return status;
}

enum status worker_drain(const struct worker *w)
{
    enum status status = ST_OK;
    int count = 1;

    while (status == ST_OK && count > 0 && !time_is_up(w))
        status = process_next(w, &count);
    return status;
}

/* Waits out a database that is away: longer each time, told once. */
static void wait_for_database(const struct worker *w, enum status status, int *backoff_ms)
{
    if (*backoff_ms == 0)
        log_say("%s (%s): waiting for it", status_text(status), db_error(w->db));
    *backoff_ms = *backoff_ms == 0 ? BACKOFF_FIRST_MS : *backoff_ms * 2;
    if (*backoff_ms > BACKOFF_MAX_MS)
        *backoff_ms = BACKOFF_MAX_MS;
    pass_turn(w); /* another one's session may be well */
    (void)!stop_wait(-1, *backoff_ms);
}

/* One round of an undrained worker: sweep now and then, claim, work. */
static enum status next_round(const struct worker *w, int64_t *next_sweep, int *count)
{
    enum status status = ST_OK;

    *count = 0;
    if (clock_ms() >= *next_sweep) {
        *next_sweep = clock_ms() + SWEEP_MS;
        status = sweep(w);
    }
    return status == ST_OK ? process_next(w, count) : status;
}

enum status worker_run(const struct worker *w)
{
    int64_t next_sweep = 0;
    int backoff_ms = 0, count = 0;
    enum status status;

    if (w->drain) {
        status = sweep(w);
        return status == ST_OK ? worker_drain(w) : status;
    }
    while (!time_is_up(w)) {
        if (count == 0 && !my_turn(w)) { /* one that had work just now asks again at once */
            (void)!stop_wait(-1, WORKER_POLL_MS);
            continue;
        }
        status = next_round(w, &next_sweep, &count);
        if (status != ST_OK) {
            wait_for_database(w, status, &backoff_ms);
            count = 0;
            continue;
        }
        if (backoff_ms != 0)
            log_say("the database is back");
        backoff_ms = 0;
        if (count == 0)
            (void)!stop_wait(-1, WORKER_POLL_MS);
    }
    return ST_OK;
}
