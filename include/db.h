/* db.h: one PostgreSQL session, its transactions and their deadline.
 * Connects at the first use and again after a loss, but never repeats work by itself:
 * when the connection is lost the call returns, and the outermost loop decides. libpq
 * is driven without blocking under one deadline (db_until) for everything up to the
 * next one; past it the socket is closed, never cancelled: a cancelled COMMIT would be
 * acknowledged unreplicated. Between two calls no transaction is open, db_query and
 * db_script aside. Known limit: a host name is looked up by the C library, which may
 * block longer than the deadline; an address or a Unix socket needs no look-up. */
#ifndef HOOKONCE_DB_H
#define HOOKONCE_DB_H

#include "compiler.h"
#include "status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DB_PARAMS_MAX 24
#define DB_ERROR_MAX  512

struct db;
struct db_rows; /* a result's rows; the caller frees them */

/* A statement's parameters, $1 first. Texts and bytes are the caller's and must outlive
 * the call; numbers are kept inside, so a filled struct must not be copied. */
struct db_params {
    int count;
    bool overflow; /* more than DB_PARAMS_MAX: the statement is refused */
    const char *value[DB_PARAMS_MAX];
    int length[DB_PARAMS_MAX];
    int format[DB_PARAMS_MAX];
    unsigned type[DB_PARAMS_MAX];
    char number[DB_PARAMS_MAX][24];
};

/* Each adds the next parameter; NULL is SQL's NULL. */
void db_text(struct db_params *p, const char *text);
void db_json(struct db_params *p, const char *text, size_t len);
void db_bytes(struct db_params *p, const void *bytes, size_t len);
void db_int(struct db_params *p, int64_t value);
void db_int_null(struct db_params *p);
/* -1: NULL, 0: false, else true. */
void db_bool(struct db_params *p, int value);

/* Time limits of one transaction, set inside it (poolers drop what SET leaves behind). */
struct db_limits {
    int statement_ms; /* each statement */
    int lock_ms;      /* each wait for a lock, or for another transaction's key */
};

/* Keeps a copy of the connection string; does not connect. NULL: no memory. */
struct db *db_new(const char *conninfo) MUST_CHECK;
/* What pg_stat_activity calls its sessions ("hookonce" unless set); a literal. */
void db_set_name(struct db *db, const char *name);
/* Ends the session without waiting; NULL is legal. */
void db_free(struct db *db);

/* Everything from now on must be done at this point (clock.h, milliseconds). */
void db_until(struct db *db, int64_t deadline_ms);
int64_t db_deadline(const struct db *db);

/* Connects if there is no session, or if the one that was idle is found dead.
 * ST_DB_DOWN, ST_DB_LOST, ST_DB_TIMEOUT, ST_DB_CHARSET. */
enum status db_ready(struct db *db) MUST_CHECK;

/* BEGIN, the limits, the one statement and COMMIT in one round trip. ST_OK only when the
 * server said COMMIT; otherwise nothing of it holds, or, with ST_DB_LOST and
 * ST_DB_TIMEOUT, it is unknown whether it does. With ST_OK *rows must be freed. */
enum status db_transaction(struct db *db, const struct db_limits *limits, const char *sql,
                           const struct db_params *params, struct db_rows **rows) MUST_CHECK;

/* One statement without limits and isolation of its own: for questions. */
enum status db_query(struct db *db, const char *sql, const struct db_params *params,
                     struct db_rows **rows) MUST_CHECK;
/* Any number of statements by the simple protocol, results thrown away. */
enum status db_script(struct db *db, const char *sql) MUST_CHECK;

/* The last failure as "SQLSTATE message", without payload; "" when there was none. */
const char *db_error(const struct db *db);

int db_rows_count(const struct db_rows *rows);
/* NULL for SQL's NULL. Lives as long as the rows. */
const char *db_value(const struct db_rows *rows, int row, int column);
void db_rows_free(struct db_rows *rows);

#endif
