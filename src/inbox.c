#include "inbox.h"

#include <string.h>

const struct db_limits inbox_limits = {.statement_ms = 4000, .lock_ms = 3000};

/* The receipt, processed at once: $1 provider, $2 endpoint, $3 event id, $4 type,
 * $5 payload, $6 exact bytes, $7 account, $8 livemode; bound and $10 as in apply.h. A concurrent
 * delivery of the same event waits here for our COMMIT, and then finds no row to insert. */
static const char receive_sql[] =
    "  INSERT INTO webhook_inbox AS w (provider, endpoint, event_id, event_type, payload,\n"
    "                                  raw_body, account, livemode, outcome, processed_at,\n"
    "                                  available_at, last_error)\n"
    "  SELECT $1, $2, $3, $4, $5, $6, $7, $8, outcome,\n"
    "         CASE WHEN outcome IS NOT NULL THEN now() END,\n"
    "         CASE WHEN outcome IS NULL THEN timestamptz 'infinity' ELSE now() END,\n"
    "         CASE WHEN outcome IS NULL THEN 'parked: ' || $10 END\n"
    "    FROM bound\n"
    "  ON CONFLICT (provider, endpoint, event_id) DO NOTHING\n";

/* The receipt of an event that the handler in C cannot read: for a worker where a function
 * is bound, else at rest. Parameters as in receive_sql. */
static const char record_unread_sql[] =
    "  INSERT INTO webhook_inbox AS w (provider, endpoint, event_id, event_type, payload,\n"
    "                                  raw_body, account, livemode, available_at, last_error)\n"
    "  SELECT $1, $2, $3, $4, $5, $6, $7, $8,\n"
    "         CASE WHEN handler IS NULL THEN timestamptz 'infinity' ELSE now() END,\n"
    "         CASE WHEN handler IS NULL THEN 'parked: ' || $10 END\n"
    "    FROM bound\n"
    "  ON CONFLICT (provider, endpoint, event_id) DO NOTHING\n";

/* The receipt of an event that is not for this endpoint: $9 ignored, $10 why. */
static const char unwanted_sql[] =
    "INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload, raw_body,\n"
    "                           account, livemode, outcome, processed_at, last_error)\n"
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now(), $10)\n"
    "ON CONFLICT (provider, endpoint, event_id) DO NOTHING\n"
    "RETURNING 1";

/* The receipt for a worker. $9 is the error of a first attempt, null when there was none. */
static const char record_sql[] =
    "INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload,\n"
    "                           raw_body, account, livemode, last_error, attempts, available_at)\n"
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, ($9 IS NOT NULL)::int,\n"
    "        CASE WHEN $9 IS NULL THEN now() ELSE now() + " INBOX_BACKOFF(
        "1") " END)\n"
             "ON CONFLICT (provider, endpoint, event_id) DO NOTHING\n"
             "RETURNING 1";

/* Counts a further delivery: a write, so that its 200 waits for replication too. Tells
 * whether the body says something else; pending_webhooks differs by nature, and a purged one is
 * empty. */
static const char count_delivery_sql[] =
    "UPDATE webhook_inbox\n"
    "   SET deliveries = deliveries + 1, last_delivery_at = now()\n"
    " WHERE provider = $1 AND endpoint = $2 AND event_id = $3\n"
    "RETURNING payload <> '{}' AND payload - 'pending_webhooks' <> $4 - 'pending_webhooks'";

static void bind_key(struct db_params *params, const struct receipt *receipt)
{
    db_text(params, receipt->provider);
    db_text(params, receipt->endpoint);
    db_text(params, receipt->event->id);
}

/* $1 to $8. */
static void bind_receipt(struct db_params *params, const struct receipt *receipt)
{
    const struct event *event = receipt->event;

    params->count = 0;
    bind_key(params, receipt);
    db_text(params, event->type);
    db_json(params, event->text, event->len);
    db_bytes(params, event->raw, event->raw_len);
    db_text(params, event->account);
    db_bool(params, event->livemode);
}

/* Runs a statement that writes a receipt; *fresh: whether it was there to write. */
static enum status commit_receipt(struct db *db, const struct db_limits *limits, const char *sql,
                                  const struct db_params *params, bool *fresh)
{
    struct db_rows *rows;
    enum status status = db_transaction(db, limits, sql, params, &rows);

    if (status != ST_OK)
        return status;
    *fresh = db_rows_count(rows) > 0;
    db_rows_free(rows);
    return ST_OK;
}

static enum status count_delivery(struct db *db, const struct receipt *receipt,
                                  struct received *received)
{
    struct db_params params = {0};
    struct db_rows *rows;
    const char *differs;
    enum status status;

    bind_key(&params, receipt);
    db_json(&params, receipt->event->text, receipt->event->len);
    status = db_transaction(db, &inbox_limits, count_delivery_sql, &params, &rows);
    if (status != ST_OK)
        return status;
    if (db_rows_count(rows) > 0) {
        differs = db_value(rows, 0, 0);
        received->outcome = OUTCOME_DUPLICATE;
        received->other_body = differs != NULL && differs[0] == 't';
    } else {
        status = ST_DB_RETRY; /* purged between the two: begin again */
    }
    db_rows_free(rows);
    return status;
}

/* Sends the one statement: receipt and effect, or, where the event cannot be applied as
 * it is, receipt and review. */
static enum status apply_receipt(struct db *db, const struct db_limits *limits, const char *write,
                                 const struct receipt *receipt, const struct handler *handler,
                                 struct received *received)
{
    struct applying what = {.write = write, .handler = handler, .event = receipt->event};
    enum status status;

    bind_receipt(&what.receipt, receipt);
    status = apply_event(db, limits, &what, &received->outcome, &received->parked);
    if (status == ST_OK && received->outcome == OUTCOME_DUPLICATE)
        status = count_delivery(db, receipt, received);
    return status;
}

enum status receive_sync(struct db *db, const struct receipt *receipt,
                         const struct handler *handler, struct received *received)
{
    *received = (struct received){0};
    return apply_receipt(db, &inbox_limits, receive_sql, receipt, handler, received);
}

/* error NULL: nothing was tried yet. */
static enum status record(struct db *db, const struct receipt *receipt, const char *error,
                          struct received *received)
{
    struct db_params params = {0};
    bool fresh = false;
    enum status status;

    received->outcome = OUTCOME_ACCEPTED;
    received->deferred = error != NULL;
    bind_receipt(&params, receipt);
    db_text(&params, error);
    status = commit_receipt(db, &inbox_limits, record_sql, &params, &fresh);
    return status == ST_OK && !fresh ? count_delivery(db, receipt, received) : status;
}

enum status receive_async(struct db *db, const struct receipt *receipt,
                          const struct handler *handler, struct received *received)
{
    struct db_params unused = {0}; /* only whether it can be read */
    enum status status;

    *received = (struct received){0};
    status = handler_bind(handler, receipt->event, &unused, &received->parked);
    if (status == ST_OK)
        return record(db, receipt, NULL, received);
    if (status == ST_PARK)
        return apply_receipt(db, &inbox_limits, record_unread_sql, receipt, handler, received);
    return status;
}

enum status receive_unwanted(struct db *db, const struct receipt *receipt, const char *why,
                             struct received *received)
{
    struct db_params params = {0};
    bool fresh = false;
    enum status status;

    *received = (struct received){.outcome = OUTCOME_IGNORED};
    bind_receipt(&params, receipt);
    db_text(&params, outcome_word(received->outcome));
    db_text(&params, why);
    status = commit_receipt(db, &inbox_limits, unwanted_sql, &params, &fresh);
    return status == ST_OK && !fresh ? count_delivery(db, receipt, received) : status;
}

enum status receive_auto(struct db *db, const struct receipt *receipt,
                         const struct handler *handler, int limit_ms, struct received *received)
{
    const struct db_limits limits = {.statement_ms = limit_ms, .lock_ms = inbox_limits.lock_ms};
    char error[DB_ERROR_MAX];
    enum status status;

    *received = (struct received){0};
    status = apply_receipt(db, &limits, receive_sql, receipt, handler, received);
    if (status != ST_DB_SQL && status != ST_DB_SCHEMA && status != ST_DB_TIMEOUT &&
        status != ST_DB_RETRY)
        return status;
    memcpy(error, db_error(db), sizeof(error));
    return record(db, receipt, error, received);
}
