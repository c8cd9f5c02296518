/* ops.h: what the operator's program asks of the database and tells it: the queries
 * behind the sub-commands, without their printing. Sessions as in db.h. */
#ifndef HOOKONCE_OPS_H
#define HOOKONCE_OPS_H

#include "compiler.h"
#include "db.h"
#include "status.h"
#include <stdbool.h>
#include <stdint.h>

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

/* The inbox as it stands. */
struct ops_status {
    int64_t unprocessed;    /* waiting for a worker, or resting */
    int64_t resting;        /* of these: at rest, for a person */
    int64_t oldest_seconds; /* age of the oldest that is not at rest */
    int64_t reviews;        /* open reviews */
    int64_t hour_events;    /* received within the last hour */
    int64_t hour_repeats;   /* further deliveries of these */
    int64_t outbox_waiting; /* messages not yet published */
    int64_t failing;        /* of the unprocessed: failed at least once, not at rest */
    int64_t due_seconds;    /* how long the longest one has been due and not taken */
    int64_t workers;        /* sessions of hookonce worker */
    int64_t poll_seconds;   /* since the last question of any of them; -1 without one */
};
enum status ops_status(struct db *db, struct ops_status *out) MUST_CHECK;

/* Events of the last hour by type, most frequent first: type, count, duplicates. */
enum status ops_hour_by_type(struct db *db, struct db_rows **rows) MUST_CHECK;

/* Which receipts; a member that is NULL or 0 selects all. */
struct ops_filter {
    const char *endpoint;
    const char *type;  /* may hold *: "invoice.*" */
    const char *state; /* a name of ops_state */
    const char *event_id;
    int64_t since_seconds; /* received within */
    int limit, offset;     /* of a list */
};

/* The n-th state's name (waiting, working, failing, resting, processed, ignored), NULL
 * behind the last. */
const char *ops_state(size_t n);

/* Columns of a list. */
enum {
    LIST_EVENT,
    LIST_TYPE,
    LIST_ENDPOINT,
    LIST_STATE,
    LIST_DELIVERIES,
    LIST_ATTEMPTS,
    LIST_AGE,
    LIST_ERROR,
    LIST_COLUMNS
};
/* Newest first. */
enum status ops_list(struct db *db, const struct ops_filter *filter,
                     struct db_rows **rows) MUST_CHECK;

/* Columns of the whole of a receipt: each a text for people, the payload pretty. */
enum {
    SHOW_PROVIDER,
    SHOW_ENDPOINT,
    SHOW_EVENT,
    SHOW_TYPE,
    SHOW_STATE,
    SHOW_RECEIVED,
    SHOW_DELIVERIES,
    SHOW_LAST_DELIVERY,
    SHOW_ATTEMPTS,
    SHOW_NEXT,
    SHOW_PROCESSED,
    SHOW_ERROR,
    SHOW_ACCOUNT,
    SHOW_LIVEMODE,
    SHOW_RAW,
    SHOW_PAYLOAD,
    SHOW_COLUMNS
};
/* Every receipt of that event id. */
enum status ops_show(struct db *db, const struct ops_filter *filter,
                     struct db_rows **rows) MUST_CHECK;

/* Columns of a review. */
enum {
    REVIEW_ID,
    REVIEW_REASON,
    REVIEW_EVENT,
    REVIEW_ENDPOINT,
    REVIEW_AGE,
    REVIEW_DETAIL,
    REVIEW_NOTE,
    REVIEW_COLUMNS
};
/* Reviews, oldest first: the open ones, or with an event's id all of it. */
enum status ops_reviews(struct db *db, const struct ops_filter *filter,
                        struct db_rows **rows) MUST_CHECK;
/* Resolves an open review with a note; *found: whether there was one. */
enum status ops_resolve(struct db *db, int64_t id, const char *note, bool *found) MUST_CHECK;

/* How many receipts a retry would give back: those at rest or failing, or, ignored, those
 * without an effect. */
enum status ops_retry_count(struct db *db, const struct ops_filter *filter, bool ignored,
                            int64_t *count) MUST_CHECK;
/* Gives them back to the workers, with all their attempts, and resolves their reviews. */
enum status ops_retry(struct db *db, const struct ops_filter *filter, bool ignored,
                      int64_t *count) MUST_CHECK;

/* A purge goes through the table block by block, so that it can be stopped anywhere, and
 * run again, and its progress is true. */
struct ops_purge {
    int64_t payload_seconds; /* older: the payload is blanked, the key stays */
    int64_t keys_seconds;    /* older: the row goes */
    int64_t blocks;          /* the table's, when the purge began */
    int64_t next_block;
    int64_t blanked, deleted; /* so far */
};
enum status ops_purge_begin(struct db *db, struct ops_purge *purge) MUST_CHECK;
/* The next blocks, in one short transaction. */
enum status ops_purge_step(struct db *db, struct ops_purge *purge, int blocks) MUST_CHECK;

#endif
