#include "claim.h"

#include <stdlib.h>
#include <string.h>

const struct claim_policy claim_policy_default = {
    .max_attempts = 10,
    .lease_seconds = 120,
    .batch = 16,
    .limits = {.statement_ms = 30000, .lock_ms = 10000},
};

/* For a claim or a sweep: the server must give up before we do. */
static const struct db_limits claim_limits = {.statement_ms = 5000, .lock_ms = 2000};

/* Takes what is due, oldest first: $1 lease in seconds, $2 most attempts, $3 how many. A
 * receipt that failed before is taken alone, so that a crash counts against nobody else. */
static const char claim_sql[] =
    "WITH due AS (\n"
    "  SELECT provider, endpoint, event_id, attempts, available_at\n"
    "    FROM webhook_inbox\n"
    "   WHERE processed_at IS NULL AND available_at <= now() AND attempts < $2\n"
    "   ORDER BY available_at\n"
    "   LIMIT $3\n"
    "     FOR UPDATE SKIP LOCKED\n"
    "), first AS (\n"
    "  SELECT * FROM due ORDER BY available_at LIMIT 1\n"
    "), picked AS (\n"
    "  SELECT due.provider, due.endpoint, due.event_id\n"
    "    FROM due, first\n"
    "   WHERE CASE WHEN first.attempts = 0 THEN due.attempts = 0\n"
    "              ELSE (due.provider, due.endpoint, due.event_id)\n"
    "                 = (first.provider, first.endpoint, first.event_id) END\n"
    ")\n"
    "UPDATE webhook_inbox AS w\n"
    "   SET attempts = w.attempts + 1, available_at = now() + make_interval(secs => $1)\n"
    "  FROM picked\n"
    " WHERE (w.provider, w.endpoint, w.event_id)\n"
    "     = (picked.provider, picked.endpoint, picked.event_id)\n"
    "RETURNING w.provider, w.endpoint, w.event_id, w.event_type, w.payload, w.attempts";

enum { PROVIDER, ENDPOINT, EVENT_ID, EVENT_TYPE, PAYLOAD, ATTEMPTS };

/* The receipt, locked, and only while it is not processed: $1 to $3 its key, $4 its type,
 * $5 the attempt: who comes late may still apply it, but not park what another one works on.
 * bound and $10 as in apply.h; $6 to $8 are not used. */
static const char process_sql[] =
    "  UPDATE webhook_inbox AS w\n"
    "     SET outcome = bound.outcome,\n"
    "         processed_at = CASE WHEN bound.outcome IS NOT NULL THEN now() END,\n"
    "         available_at = CASE WHEN bound.outcome IS NULL THEN 'infinity'\n"
    "                             ELSE w.available_at END,\n"
    "         last_error = CASE WHEN bound.outcome IS NULL THEN 'parked: ' || $10 END\n"
    "    FROM bound\n"
    "   WHERE w.provider = $1 AND w.endpoint = $2 AND w.event_id = $3\n"
    "     AND w.processed_at IS NULL\n"
    "     AND (bound.outcome IS NOT NULL OR w.attempts = $5)\n";

/* Puts a receipt to rest with a review: $4 the error, $5 the attempt that ended so. */
static const char rest_sql[] =
    "WITH receipt AS (\n"
    "  UPDATE webhook_inbox\n"
    "     SET available_at = 'infinity', last_error = $4\n"
    "   WHERE provider = $1 AND endpoint = $2 AND event_id = $3\n"
    "     AND processed_at IS NULL AND attempts = $5\n"
    "  RETURNING provider, endpoint, event_id, attempts\n"
    ")\n"
    "INSERT INTO webhook_reviews AS r (provider, endpoint, event_id, reason, detail)\n"
    "SELECT provider, endpoint, event_id, 'attempts_exhausted',\n"
    "       jsonb_build_object('error', $4, 'attempts', attempts)\n"
    "  FROM receipt\n" APPLY_REVIEW_AGAIN;

/* Keeps the error and waits before the next attempt: $4 the error, $5 the attempt that
 * failed. Whoever took it since then is left alone. */
static const char fail_sql[] =
    "UPDATE webhook_inbox\n"
    "   SET last_error = $4, available_at = now() + " INBOX_BACKOFF(
        "attempts") "\n"
                    " WHERE provider = $1 AND endpoint = $2 AND event_id = $3\n"
                    "   AND processed_at IS NULL AND attempts = $5";

/* As if it had not been claimed: $4 the attempt that was counted for it. */
static const char give_back_sql[] =
    "UPDATE webhook_inbox SET attempts = attempts - 1, available_at = now()\n"
    " WHERE provider = $1 AND endpoint = $2 AND event_id = $3\n"
    "   AND processed_at IS NULL AND attempts = $4";

/* Those whose last attempt never told how it ended: $1 most attempts. */
static const char sweep_sql[] =
    "WITH dead AS (\n"
    "  SELECT provider, endpoint, event_id FROM webhook_inbox\n"
    "   WHERE processed_at IS NULL AND available_at <= now() AND attempts >= $1\n"
    "     FOR UPDATE SKIP LOCKED\n"
    "), rested AS (\n"
    "  UPDATE webhook_inbox AS w\n"
    "     SET available_at = 'infinity',\n"
    "         last_error = coalesce(w.last_error, 'the process ended during the last attempt')\n"
    "    FROM dead\n"
    "   WHERE (w.provider, w.endpoint, w.event_id)\n"
    "       = (dead.provider, dead.endpoint, dead.event_id)\n"
    "  RETURNING w.provider, w.endpoint, w.event_id, w.attempts, w.last_error\n"
    ")\n"
    "INSERT INTO webhook_reviews (provider, endpoint, event_id, reason, detail)\n"
    "SELECT provider, endpoint, event_id, 'attempts_exhausted',\n"
    "       jsonb_build_object('error', last_error, 'attempts', attempts)\n"
    "  FROM rested\n" APPLY_REVIEW_AGAIN "RETURNING 1";

enum status claim_next(struct db *db, const struct claim_policy *policy, struct claims *claims)
{
    struct db_params params = {0};
    enum status status;

    memset(claims, 0, sizeof(*claims));
    db_int(&params, policy->lease_seconds);
    db_int(&params, policy->max_attempts);
    db_int(&params, policy->batch);
    status = db_transaction(db, &claim_limits, claim_sql, &params, &claims->rows);
    if (status == ST_OK)
        claims->count = db_rows_count(claims->rows);
    return status;
}

void claims_release(struct claims *claims)
{
    db_rows_free(claims->rows);
    memset(claims, 0, sizeof(*claims));
}

const char *claim_event_id(const struct claims *claims, int i)
{
    return db_value(claims->rows, i, EVENT_ID);
}

const char *claim_event_type(const struct claims *claims, int i)
{
    return db_value(claims->rows, i, EVENT_TYPE);
}

const char *claim_endpoint(const struct claims *claims, int i)
{
    return db_value(claims->rows, i, ENDPOINT);
}

int claim_attempts(const struct claims *claims, int i)
{
    return atoi(db_value(claims->rows, i, ATTEMPTS));
}

static void claim_key(struct db_params *params, const struct claims *claims, int i)
{
    params->count = 0;
    for (int column = PROVIDER; column <= EVENT_ID; column++)
        db_text(params, db_value(claims->rows, i, column));
}

/* Runs a statement over the receipt; *ours: whether it was still there to be worked. */
static enum status commit_claim(struct db *db, const struct claim_policy *policy, const char *sql,
                                const struct db_params *params, bool *ours)
{
    struct db_rows *rows;
    enum status status = db_transaction(db, &policy->limits, sql, params, &rows);

    if (status == ST_OK)
        *ours = db_rows_count(rows) > 0;
    db_rows_free(rows);
    return status;
}

static enum status rest(struct db *db, const struct claim_policy *policy,
                        const struct claims *claims, int i, const char *error)
{
    struct db_params params = {0};
    bool ours;

    claim_key(&params, claims, i);
    db_text(&params, error);
    db_int(&params, claim_attempts(claims, i));
    return commit_claim(db, policy, rest_sql, &params, &ours);
}

/* The effect, as a delivery would have run it, over the receipt that waits. */
static enum status work(struct db *db, const struct claim_policy *policy,
                        const struct claims *claims, int i, struct worked *worked)
{
    const char *provider = db_value(claims->rows, i, PROVIDER);
    const char *type = claim_event_type(claims, i);
    struct event event;
    struct applying what = {
        .write = process_sql, .handler = handler_find(provider, type), .event = &event};
    enum status status;

    claim_key(&what.receipt, claims, i);
    db_text(&what.receipt, type);
    db_int(&what.receipt, claim_attempts(claims, i));
    while (what.receipt.count < APPLY_RECEIPT_PARAMS)
        db_text(&what.receipt, NULL);
    status = event_restore(scheme_find(provider), claim_event_id(claims, i), type,
                           db_value(claims->rows, i, PAYLOAD), &event);
    if (status == ST_OK)
        status = apply_event(db, &policy->limits, &what, &worked->outcome, &worked->parked);
    event_release(&event);
    return status;
}

/* Commits how it failed. A lost session is opened again for it; if that fails too, the
 * lease's end gives the receipt back. */
static void fail(struct db *db, const struct claim_policy *policy, const struct claims *claims,
                 int i, struct worked *worked)
{
    struct db_params params = {0};
    bool ours;

    if (db_ready(db) != ST_OK)
        return;
    if (claim_attempts(claims, i) >= policy->max_attempts) {
        worked->rests = rest(db, policy, claims, i, worked->error) == ST_OK;
        return;
    }
    claim_key(&params, claims, i);
    db_text(&params, worked->error);
    db_int(&params, claim_attempts(claims, i));
    (void)!commit_claim(db, policy, fail_sql, &params, &ours);
}

enum status process_claimed(struct db *db, const struct claim_policy *policy,
                            const struct claims *claims, int i, struct worked *worked)
{
    enum status status;

    memset(worked, 0, sizeof(*worked));
    status = work(db, policy, claims, i, worked);
    if (status == ST_OK)
        return ST_OK;
    strncpy(worked->error, db_error(db)[0] != '\0' ? db_error(db) : status_text(status),
            sizeof(worked->error) - 1);
    fail(db, policy, claims, i, worked);
    return status;
}

void claim_give_back(struct db *db, const struct claim_policy *policy, const struct claims *claims,
                     int i)
{
    bool ours;

    for (; i < claims->count; i++) {
        struct db_params params = {0};

        claim_key(&params, claims, i);
        db_int(&params, claim_attempts(claims, i));
        if (commit_claim(db, policy, give_back_sql, &params, &ours) != ST_OK)
            return; /* their lease gives them back */
    }
}

enum status claim_sweep(struct db *db, const struct claim_policy *policy, int *rested)
{
    struct db_params params = {0};
    struct db_rows *rows;
    enum status status;

    *rested = 0;
    db_int(&params, policy->max_attempts);
    status = db_transaction(db, &claim_limits, sweep_sql, &params, &rows);
    if (status == ST_OK)
        *rested = db_rows_count(rows);
    db_rows_free(rows);
    return status;
}
