/* claim.h: working receipts that wait, as the article has it. claim_next counts the
 * attempt and takes a lease, and commits before any work; process_claimed runs the
 * effect over the receipt, locked and checked again, in one transaction. So a worker
 * that dies has left its attempt counted, and two that work one receipt (a lease that
 * ran out) have one effect. Sessions as in inbox.h. All times are the database's. */
#ifndef HOOKONCE_CLAIM_H
#define HOOKONCE_CLAIM_H

#include "compiler.h"
#include "db.h"
#include "handler.h"
#include "inbox.h"
#include "status.h"

#define CLAIM_BATCH_MAX 100

struct claim_policy {
    int max_attempts;  /* at this many a receipt rests */
    int lease_seconds; /* as long nobody else takes what was claimed */
    int batch;         /* fresh receipts at a time; one that failed before goes alone */
    struct db_limits limits;
};

/* The article's: 10 attempts, 2 minutes, 30 seconds. */
extern const struct claim_policy claim_policy_default;

/* What was claimed. Owns its rows; claims_release is legal on a zeroed struct. */
struct claims {
    struct db_rows *rows;
    int count;
};

/* How the work on one receipt ended. */
struct worked {
    enum outcome outcome; /* processed, ignored, parked; duplicate: another one was faster */
    struct park parked;
    char error[DB_ERROR_MAX]; /* of a failure, "" without */
    bool rests;               /* it was the last attempt */
};

/* Claims what is due, committed on return. ST_OK with count 0: nothing is due. */
enum status claim_next(struct db *db, const struct claim_policy *policy,
                       struct claims *claims) MUST_CHECK;
void claims_release(struct claims *claims);
const char *claim_event_id(const struct claims *claims, int i);
const char *claim_event_type(const struct claims *claims, int i);
const char *claim_endpoint(const struct claims *claims, int i);
int claim_attempts(const struct claims *claims, int i);

/* Works the i-th claim. ST_OK: done, parked, or done by another one. Otherwise it was
 * rolled back, and its error and the time of its next attempt are committed, unless the
 * database is gone: then it is due again when its lease ends. */
enum status process_claimed(struct db *db, const struct claim_policy *policy,
                            const struct claims *claims, int i, struct worked *worked) MUST_CHECK;

/* Gives back the claims from the i-th on, untouched: due at once, their attempt not counted. */
void claim_give_back(struct db *db, const struct claim_policy *policy, const struct claims *claims,
                     int i);

/* Puts to rest the receipts whose last attempt died with its process, with a review. */
enum status claim_sweep(struct db *db, const struct claim_policy *policy, int *rested) MUST_CHECK;

#endif
