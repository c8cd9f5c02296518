/* The operator's questions about single receipts, and giving them back. */
#include "ops.h"

#include <stdlib.h>

/* A receipt's state as a word. */
#define STATE_SQL                                                                                  \
    "CASE WHEN processed_at IS NOT NULL THEN coalesce(outcome, 'processed')\n"                     \
    "            WHEN available_at = 'infinity' THEN 'resting'\n"                                  \
    "            WHEN last_error IS NOT NULL AND attempts > 0 THEN 'failing'\n"                    \
    "            WHEN attempts > 0 THEN 'working'\n"                                               \
    "            ELSE 'waiting' END"

/* $1 endpoint, $2 type with *, $3 state, $4 event id, $5 seconds: null selects all. */
#define FILTER_SQL                                                                                    \
    "       ($1::text IS NULL OR endpoint = $1)\n"                                                    \
    "   AND ($2::text IS NULL\n"                                                                      \
    "        OR event_type LIKE replace(replace(replace($2, '\\', '\\\\'), '_', '\\_'), '*', '%'))\n" \
    "   AND ($3::text IS NULL OR " STATE_SQL " = $3)\n"                                               \
    "   AND ($3 IS NULL OR $3 IN ('processed', 'ignored') OR processed_at IS NULL)\n"                 \
    "   AND ($4::text IS NULL OR event_id = $4)\n"                                                    \
    "   AND ($5::bigint IS NULL OR received_at > now() - make_interval(secs => $5))\n"

const char *ops_state(size_t n)
{
    static const char *const states[] = {"waiting", "working",   "failing",
                                         "resting", "processed", "ignored"};

    return n < ARRAY_LEN(states) ? states[n] : NULL;
}

static void bind_filter(struct db_params *params, const struct ops_filter *filter)
{
    db_text(params, filter->endpoint);
    db_text(params, filter->type);
    db_text(params, filter->state);
    db_text(params, filter->event_id);
    if (filter->since_seconds > 0)
        db_int(params, filter->since_seconds);
    else
        db_int_null(params);
}

/* The columns of LIST_*; $6 limit, $7 offset. */
static const char list_sql[] =
    "SELECT event_id, event_type, endpoint, " STATE_SQL ",\n"
    "       deliveries, attempts, extract(epoch FROM now() - received_at)::bigint, last_error\n"
    "  FROM webhook_inbox\n"
    " WHERE" FILTER_SQL " ORDER BY received_at DESC, event_id\n"
    " LIMIT $6 OFFSET $7";

enum status ops_list(struct db *db, const struct ops_filter *filter, struct db_rows **rows)
{
    struct db_params params = {0};

    bind_filter(&params, filter);
    db_int(&params, filter->limit);
    db_int(&params, filter->offset);
    return db_query(db, list_sql, &params, rows);
}

/* The columns of SHOW_*. */
static const char show_sql[] =
    "SELECT provider, endpoint, event_id, event_type, " STATE_SQL ",\n"
    "       received_at, deliveries, last_delivery_at, attempts,\n"
    "       CASE WHEN processed_at IS NULL THEN available_at END, processed_at, last_error,\n"
    "       account, livemode, octet_length(raw_body), jsonb_pretty(payload)\n"
    "  FROM webhook_inbox\n"
    " WHERE event_id = $1 AND ($2::text IS NULL OR endpoint = $2)\n"
    " ORDER BY received_at";

enum status ops_show(struct db *db, const struct ops_filter *filter, struct db_rows **rows)
{
    struct db_params params = {0};

    db_text(&params, filter->event_id);
    db_text(&params, filter->endpoint);
    return db_query(db, show_sql, &params, rows);
}

/* The columns of REVIEW_*: $1 an event id, or null for those that are open. */
static const char reviews_sql[] =
    "SELECT id, reason, event_id, endpoint, extract(epoch FROM now() - created_at)::bigint,\n"
    "       detail::text, note\n"
    "  FROM webhook_reviews\n"
    " WHERE CASE WHEN $1::text IS NULL THEN resolved_at IS NULL ELSE event_id = $1 END\n"
    "   AND ($2::text IS NULL OR endpoint = $2)\n"
    " ORDER BY created_at, id\n"
    " LIMIT $3 OFFSET $4";

enum status ops_reviews(struct db *db, const struct ops_filter *filter, struct db_rows **rows)
{
    struct db_params params = {0};

    db_text(&params, filter->event_id);
    db_text(&params, filter->endpoint);
    db_int(&params, filter->limit);
    db_int(&params, filter->offset);
    return db_query(db, reviews_sql, &params, rows);
}

/* A person has looked: $1 the review, $2 what there is to say of it. */
static const char resolve_sql[] = "UPDATE webhook_reviews SET resolved_at = now(), note = $2\n"
                                  " WHERE id = $1 AND resolved_at IS NULL\n"
                                  "RETURNING 1";

enum status ops_resolve(struct db *db, int64_t id, const char *note, bool *found)
{
    struct db_params params = {0};
    struct db_rows *rows;
    enum status status;

    *found = false;
    db_int(&params, id);
    db_text(&params, note);
    status = db_query(db, resolve_sql, &params, &rows);
    if (status == ST_OK)
        *found = db_rows_count(rows) > 0;
    db_rows_free(rows);
    return status;
}

/* $6: whether those that were ignored are meant, else those that wait after a failure. */
#define RETRY_SQL                                                                                  \
    FILTER_SQL                                                                                     \
    "   AND CASE WHEN $6 THEN outcome = 'ignored' AND last_error IS NULL\n"                        \
    "            ELSE processed_at IS NULL\n"                                                      \
    "                 AND (available_at = 'infinity'\n"                                            \
    "                      OR (last_error IS NOT NULL AND attempts > 0)) END\n"

static const char retry_count_sql[] = "SELECT count(*) FROM webhook_inbox\n"
                                      " WHERE" RETRY_SQL;

/* All attempts again, at once; last_error stays until the next one ends. */
static const char retry_sql[] =
    "WITH given AS (\n"
    "  UPDATE webhook_inbox\n"
    "     SET attempts = 0, available_at = now(), processed_at = NULL, outcome = NULL\n"
    "   WHERE" RETRY_SQL "  RETURNING provider, endpoint, event_id\n"
    "), resolved AS (\n"
    "  UPDATE webhook_reviews AS r SET resolved_at = now(), note = 'given back by retry'\n"
    "    FROM given\n"
    "   WHERE (r.provider, r.endpoint, r.event_id)\n"
    "       = (given.provider, given.endpoint, given.event_id)\n"
    "     AND r.resolved_at IS NULL AND r.reason IN ('parked', 'attempts_exhausted')\n"
    ")\n"
    "SELECT count(*) FROM given";

static enum status count_query(struct db *db, const char *sql, const struct ops_filter *filter,
                               bool ignored, int64_t *count)
{
    struct db_params params = {0};
    struct db_rows *rows;
    enum status status;

    bind_filter(&params, filter);
    db_bool(&params, ignored);
    status = db_query(db, sql, &params, &rows);
    if (status == ST_OK)
        *count = strtoll(db_value(rows, 0, 0), NULL, 10);
    db_rows_free(rows);
    return status;
}

enum status ops_retry_count(struct db *db, const struct ops_filter *filter, bool ignored,
                            int64_t *count)
{
    return count_query(db, retry_count_sql, filter, ignored, count);
}

enum status ops_retry(struct db *db, const struct ops_filter *filter, bool ignored, int64_t *count)
{
    return count_query(db, retry_sql, filter, ignored, count);
}
