#include "apply.h"

#include "buf.h"

#include <stdio.h>
#include <string.h>

enum { SQL_MAX = 16384 };

const char *outcome_word(enum outcome outcome)
{
    static const char *const words[] = {
        [OUTCOME_PROCESSED] = "processed", [OUTCOME_DUPLICATE] = "duplicate",
        [OUTCOME_IGNORED] = "ignored",     [OUTCOME_ACCEPTED] = "accepted",
        [OUTCOME_PARKED] = "parked",
    };

    return words[outcome];
}

/* One row: the bound function, null without, and the outcome that there will be: $9
 * unless a function is bound. */
static const char bound_sql[] =
    "WITH bound AS MATERIALIZED (\n"
    "  SELECT handler, CASE WHEN handler IS NULL THEN $9 ELSE 'processed' END AS outcome\n"
    "    FROM (SELECT (SELECT handler FROM webhook_handlers\n"
    "                   WHERE provider = $1 AND (%s)\n"
    "                   ORDER BY event_type = $4 DESC, length(event_type) DESC\n"
    "                   LIMIT 1) AS handler) AS most_specific\n"
    "), written AS (\n"
    "%s"
    "  RETURNING w.provider, w.endpoint, w.event_id, w.event_type, w.payload, w.account,\n"
    "            w.livemode, w.outcome, w.attempts, w.available_at, w.last_error\n"
    "), receipt AS (\n"
    "  SELECT w.provider, w.endpoint, w.event_id, w.account, w.livemode\n"
    "    FROM written AS w, bound WHERE bound.handler IS NULL\n"
    ")";

/* Which bindings count. Beside a handler in C only what is as specific as it. */
static const char exact[] = "event_type = $4";
static const char any[] = "event_type = $4 OR right(event_type, 1) = '*'\n"
                          "                        AND starts_with($4, left(event_type, -1))";
static const char none[] = "false";

static const char review_sql[] =
    ", review AS (\n"
    "  INSERT INTO webhook_reviews (provider, endpoint, event_id, reason, detail)\n"
    "  SELECT w.provider, w.endpoint, w.event_id, 'parked',\n"
    "         jsonb_build_object('error', w.last_error, 'attempts', w.attempts)\n"
    "    FROM written AS w, bound WHERE bound.handler IS NULL\n"
    "  " APPLY_REVIEW_AGAIN ")\n";

/* The bound function runs here, and sees the receipt. No row: nothing was written. */
static const char end_sql[] =
    "SELECT coalesce(w.outcome, CASE WHEN w.available_at = 'infinity' THEN 'parked'\n"
    "                                ELSE 'accepted' END),\n"
    "       webhook_call(CASE WHEN w.outcome IS NOT NULL THEN bound.handler END, w.payload,\n"
    "                    jsonb_build_object('provider', w.provider, 'endpoint', w.endpoint,\n"
    "                                       'event_id', w.event_id, 'event_type', w.event_type,\n"
    "                                       'account', w.account, 'livemode', w.livemode))\n"
    "  FROM written AS w, bound";

/* How db_error begins when the function says that no repeat can help. */
static const char raised_to_park[] = "HK001 ";

static enum outcome read_outcome(const struct db_rows *rows)
{
    enum outcome outcome = OUTCOME_PARKED;

    if (db_rows_count(rows) == 0)
        return OUTCOME_DUPLICATE;
    while (outcome > 0 && strcmp(outcome_word(outcome), db_value(rows, 0, 0)) != 0)
        outcome--;
    return outcome;
}

/* lookup: which bindings count. effect: further WITH queries over receipt. */
static enum status run(struct db *db, const struct db_limits *limits, const struct applying *what,
                       const char *lookup, const char *effect, const struct db_params *params,
                       enum outcome *outcome)
{
    struct db_rows *rows;
    struct buf sql;
    enum status status;

    buf_init(&sql, SQL_MAX);
    buf_format(&sql, bound_sql, lookup, what->write);
    buf_text(&sql, effect);
    buf_text(&sql, end_sql);
    status = buf_failed(&sql) ? ST_NOMEM : db_transaction(db, limits, sql.data, params, &rows);
    buf_release(&sql);
    if (status != ST_OK)
        return status;
    *outcome = read_outcome(rows);
    db_rows_free(rows);
    return ST_OK;
}

/* The receipt at rest with its review, unless a binding counts. */
static enum status park_event(struct db *db, const struct db_limits *limits,
                              const struct applying *what, const char *lookup,
                              const struct park *park, enum outcome *outcome)
{
    struct db_params params = what->receipt;

    db_text(&params, NULL);
    db_text(&params, park->why);
    return run(db, limits, what, lookup, review_sql, &params, outcome);
}

/* Whether the function asked for it, and with which words. Judged here and not in
 * sqlstate.c: anywhere else HK001 is a failed statement like another, and nothing is parked. */
static bool asks_to_park(const char *error, struct park *park)
{
    if (strncmp(error, raised_to_park, sizeof(raised_to_park) - 1) != 0)
        return false;
    snprintf(park->why, sizeof(park->why), "%s", error + sizeof(raised_to_park) - 1);
    return true;
}

enum status apply_event(struct db *db, const struct db_limits *limits, const struct applying *what,
                        enum outcome *outcome, struct park *park)
{
    const struct handler *handler = what->handler;
    const char *lookup = handler != NULL ? exact : any;
    const char *effect = handler != NULL && handler->effect != NULL ? handler->effect : "";
    struct db_params params = what->receipt;
    enum status status;

    db_text(&params, outcome_word(handler != NULL ? OUTCOME_PROCESSED : OUTCOME_IGNORED));
    db_text(&params, NULL);
    status = handler_bind(handler, what->event, &params, park);
    if (status == ST_OK)
        status = run(db, limits, what, lookup, effect, &params, outcome);
    else if (status == ST_PARK)
        status = park_event(db, limits, what, lookup, park, outcome);
    if (status != ST_DB_SQL || !asks_to_park(db_error(db), park))
        return status;
    return park_event(db, limits, what, none, park, outcome);
}
