/* ops.h: what the operator's program asks of the database and tells it: the queries
 * behind the sub-commands, without their printing. Sessions as in db.h. */
#ifndef HOOKONCE_OPS_H
#define HOOKONCE_OPS_H

#include "compiler.h"
#include "db.h"
#include "status.h"

/* A numbered file of db/, built into the program (build/migrations.c). */
struct migration {
    int version;
    const char *name; /* "001_inbox.sql" */
    const char *sql;
};
extern const struct migration migrations[];
extern const size_t migrations_count;

/* Applies what is missing, all in one transaction under an advisory lock, so that
 * several hosts may start at once. *applied counts the files that were missing. */
enum status ops_migrate(struct db *db, int *applied) MUST_CHECK;

/* The inbox as it stands; see status_sql in ops.c for the columns. */
struct ops_status {
    int64_t unprocessed;    /* waiting for a worker, or resting */
    int64_t resting;        /* of these: at rest, for a person */
    int64_t oldest_seconds; /* age of the oldest that is not at rest */
    int64_t reviews;        /* open reviews */
    int64_t hour_events;    /* received within the last hour */
    int64_t hour_repeats;   /* further deliveries of these */
    int64_t outbox_waiting; /* messages not yet published */
    int64_t ledger_entries;
};
enum status ops_status(struct db *db, struct ops_status *out) MUST_CHECK;

/* Events of the last hour by type, most frequent first: type, count, duplicates. */
enum status ops_hour_by_type(struct db *db, struct db_rows **rows) MUST_CHECK;

#endif
