#include "ops.h"

#include <stdlib.h>

/* Ours alone, so that migrations of other programs in the database do not wait. */
static const char lock_sql[] = "SELECT pg_advisory_xact_lock(7309471201)";

/* The versions that are there: none before the first migration. */
static const char has_table_sql[] = "SELECT to_regclass('schema_migrations') IS NOT NULL";
static const char has_version_sql[] = "SELECT 1 FROM schema_migrations WHERE version = $1";

static enum status answers(struct db *db, const char *sql, const struct db_params *params,
                           bool *yes)
{
    struct db_rows *rows;
    const char *value;
    enum status status = db_query(db, sql, params, &rows);

    if (status != ST_OK)
        return status;
    value = db_rows_count(rows) > 0 ? db_value(rows, 0, 0) : NULL;
    *yes = value != NULL && value[0] != 'f';
    db_rows_free(rows);
    return ST_OK;
}

static enum status is_applied(struct db *db, int version, bool *applied)
{
    struct db_params params = {0};
    enum status status;

    status = answers(db, has_table_sql, NULL, applied);
    if (status != ST_OK || !*applied)
        return status;
    db_int(&params, version);
    return answers(db, has_version_sql, &params, applied);
}

static enum status migrate_all(struct db *db, int *count)
{
    struct db_rows *rows;
    enum status status = db_query(db, lock_sql, NULL, &rows);

    if (status != ST_OK)
        return status;
    db_rows_free(rows);
    for (size_t i = 0; i < migrations_count; i++) {
        bool applied = false;

        status = is_applied(db, migrations[i].version, &applied);
        if (status == ST_OK && !applied) {
            status = db_script(db, migrations[i].sql);
            *count += status == ST_OK;
        }
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

enum status ops_migrate(struct db *db, int *applied)
{
    enum status status = db_script(db, "BEGIN");

    *applied = 0;
    if (status == ST_OK)
        status = migrate_all(db, applied);
    if (status == ST_OK)
        status = db_script(db, "COMMIT");
    return status; /* otherwise the session ends with the program, and so does its transaction */
}

/* One row: how the inbox, its reviews and the outbox stand. */
static const char status_sql[] =
    "SELECT inbox.*, hour.*,\n"
    "       (SELECT count(*) FROM webhook_reviews WHERE resolved_at IS NULL),\n"
    "       (SELECT count(*) FROM outbox WHERE published_at IS NULL),\n"
    "       workers.*\n"
    "  FROM (SELECT count(*),\n"
    "               count(*) FILTER (WHERE available_at = 'infinity'),\n"
    "               coalesce(extract(epoch FROM max(now() - received_at)\n"
    "                 FILTER (WHERE available_at < 'infinity')), 0)::bigint,\n"
    "               count(*) FILTER (WHERE last_error IS NOT NULL AND attempts > 0\n"
    "                                  AND available_at < 'infinity'),\n"
    "               coalesce(extract(epoch FROM max(now() - available_at)\n"
    "                 FILTER (WHERE available_at <= now())), 0)::bigint\n"
    "          FROM webhook_inbox WHERE processed_at IS NULL) AS inbox,\n"
    "       (SELECT count(*), coalesce(sum(deliveries - 1), 0)\n"
    "          FROM webhook_inbox WHERE received_at > now() - interval '1 hour') AS hour,\n"
    "       (SELECT count(*),\n"
    "               coalesce(extract(epoch FROM now() - max(query_start)), -1)::bigint\n"
    "          FROM pg_stat_activity\n"
    "         WHERE application_name = 'hookonce worker'\n"
    "           AND datname = current_database()) AS workers";

enum status ops_status(struct db *db, struct ops_status *out)
{
    int64_t *const columns[] = {
        &out->unprocessed,    &out->resting,     &out->oldest_seconds, &out->failing,
        &out->due_seconds,    &out->hour_events, &out->hour_repeats,   &out->reviews,
        &out->outbox_waiting, &out->workers,     &out->poll_seconds,
    };
    struct db_rows *rows;
    enum status status = db_query(db, status_sql, NULL, &rows);

    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        const char *value = db_value(rows, 0, (int)i);

        *columns[i] = value == NULL ? 0 : strtoll(value, NULL, 10);
    }
    db_rows_free(rows);
    return ST_OK;
}

/* What came within the last hour, and how often again. */
static const char hour_sql[] = "SELECT event_type, count(*), sum(deliveries - 1)\n"
                               "  FROM webhook_inbox\n"
                               " WHERE received_at > now() - interval '1 hour'\n"
                               " GROUP BY event_type\n"
                               " ORDER BY 2 DESC, 1\n"
                               " LIMIT 20";

enum status ops_hour_by_type(struct db *db, struct db_rows **rows)
{
    return db_query(db, hour_sql, NULL, rows);
}
