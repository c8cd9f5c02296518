/* Purging: two stages over one pass through the table, in short transactions. */
#include "ops.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The blocks that the table has now: what is written meanwhile is too young anyway. */
static const char blocks_sql[] =
    "SELECT pg_relation_size('webhook_inbox') / current_setting('block_size')::bigint";

/* Some blocks of the table: $1 and $2 row addresses, $3 seconds for payloads, $4 for keys.
 * Rows that somebody holds are left for the next time, so nobody ever waits for a purge
 * in a circle. A blanked payload is a few bytes: its size tells, without unpacking it.
 * What this writes is to reach the disk as it goes, not in one stroke at the checkpoint,
 * which would hold up every commit meanwhile. */
static const char step_sql[] =
    "WITH old AS (\n"
    "  SELECT ctid AS place, processed_at < now() - make_interval(secs => $4) AS done,\n"
    "         pg_column_size(payload) > 12 OR raw_body IS NOT NULL AS full\n"
    "    FROM webhook_inbox\n"
    "   WHERE ctid >= $1::tid AND ctid < $2::tid\n"
    "     AND processed_at < now() - make_interval(secs => $3)\n"
    "     AND (SELECT set_config('backend_flush_after', '256kB', true)) <> ''\n"
    "     FOR UPDATE SKIP LOCKED\n"
    "), deleted AS (\n"
    "  DELETE FROM webhook_inbox AS w USING old WHERE w.ctid = old.place AND old.done\n"
    "  RETURNING 1\n"
    "), blanked AS (\n"
    "  UPDATE webhook_inbox AS w SET payload = '{}', raw_body = NULL\n"
    "    FROM old WHERE w.ctid = old.place AND old.full AND NOT old.done\n"
    "  RETURNING 1\n"
    ")\n"
    "SELECT (SELECT count(*) FROM blanked), (SELECT count(*) FROM deleted)";

static const struct db_limits purge_limits = {.statement_ms = 60000, .lock_ms = 5000};

enum status ops_purge_begin(struct db *db, struct ops_purge *purge)
{
    struct db_rows *rows;
    enum status status = db_query(db, blocks_sql, NULL, &rows);

    purge->next_block = purge->blanked = purge->deleted = 0;
    if (status == ST_OK)
        purge->blocks = strtoll(db_value(rows, 0, 0), NULL, 10);
    db_rows_free(rows);
    return status;
}

enum status ops_purge_step(struct db *db, struct ops_purge *purge, int blocks)
{
    char from[32], to[32];
    struct db_params params = {0};
    struct db_rows *rows;
    enum status status;

    snprintf(from, sizeof(from), "(%" PRId64 ",0)", purge->next_block);
    snprintf(to, sizeof(to), "(%" PRId64 ",0)", purge->next_block + blocks);
    db_text(&params, from);
    db_text(&params, to);
    db_int(&params, purge->payload_seconds);
    db_int(&params, purge->keys_seconds);
    status = db_transaction(db, &purge_limits, step_sql, &params, &rows);
    if (status == ST_OK) {
        purge->blanked += strtoll(db_value(rows, 0, 0), NULL, 10);
        purge->deleted += strtoll(db_value(rows, 0, 1), NULL, 10);
        purge->next_block += blocks;
    }
    db_rows_free(rows);
    return status;
}
