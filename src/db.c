#include "db_session.h"

#include "sqlstate.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct db_rows {
    const struct pq *pq;
    PGresult *result;
};

/* One statement of a flight. */
struct step {
    const char *sql;
    const struct db_params *params; /* NULL: none */
    const char *tag;                /* the command tag it must end with, NULL: any */
};

/* Sends what libpq has queued, reading meanwhile so that the two never wait for each other. */
static enum status flush(struct db *db)
{
    enum status status;
    short got;
    int more;

    while ((more = db->pq->PQflush(db->conn)) > 0) {
        status = session_wait(db, POLLIN | POLLOUT, &got);
        if (status != ST_OK)
            return status;
        if ((got & POLLIN) != 0 && !db->pq->PQconsumeInput(db->conn))
            return session_lost(db);
    }
    return more < 0 ? session_lost(db) : ST_OK;
}

/* The next result; NULL ends a statement's results. */
static enum status next_result(struct db *db, PGresult **result)
{
    enum status status;
    short got;

    *result = NULL;
    while (db->pq->PQisBusy(db->conn)) {
        status = session_wait(db, POLLIN, &got);
        if (status != ST_OK)
            return status;
        if (!db->pq->PQconsumeInput(db->conn))
            return session_lost(db);
    }
    *result = db->pq->PQgetResult(db->conn);
    return ST_OK;
}

/* The status of one result; its error is kept. */
static enum status judge(struct db *db, const PGresult *result, const char *tag)
{
    const char *state, *message;

    switch (db->pq->PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
        if (tag == NULL || strcmp(db->pq->PQcmdStatus((PGresult *)result), tag) == 0)
            return ST_OK;
        snprintf(db->error, sizeof(db->error), "----- %s was answered with %s", tag,
                 db->pq->PQcmdStatus((PGresult *)result));
        return ST_DB_SQL;
    default:
        state = db->pq->PQresultErrorField(result, PG_DIAG_SQLSTATE);
        message = db->pq->PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
        if (message == NULL)
            message = db->pq->PQerrorMessage(db->conn);
        sqlstate_describe(state, message, db->error, sizeof(db->error));
        return sqlstate_judge(state);
    }
}

/* Reads the results of one statement of a flight: the first one counts. */
static enum status land(struct db *db, const char *tag, PGresult **keep)
{
    enum status status, judged = ST_DB_LOST;
    PGresult *result;

    status = next_result(db, &result);
    if (status != ST_OK)
        return status;
    if (result == NULL)
        return session_lost(db);
    judged = judge(db, result, tag);
    if (judged == ST_OK && keep != NULL)
        *keep = result;
    else
        db->pq->PQclear(result);
    if (db->pq->PQstatus(db->conn) == CONNECTION_BAD)
        return judged;
    do {
        status = next_result(db, &result);
        if (status == ST_OK && result != NULL)
            db->pq->PQclear(result);
    } while (status == ST_OK && result != NULL);
    return status == ST_OK ? judged : status;
}

/* Reads on to the end of the flight, so that the session can be used again. A statement
 * without BEGIN commits only there, so an error that comes late is the flight's too. */
static enum status land_sync(struct db *db)
{
    enum status status, late = ST_OK;
    PGresult *result;
    int seen = PGRES_EMPTY_QUERY, nulls = 0;

    while (seen != PGRES_PIPELINE_SYNC) {
        status = next_result(db, &result);
        if (status != ST_OK)
            return status;
        if (db->pq->PQstatus(db->conn) == CONNECTION_BAD || (result == NULL && ++nulls > 64)) {
            db->pq->PQclear(result);
            return session_lost(db);
        }
        seen = (int)db->pq->PQresultStatus(result);
        if (result != NULL && seen == PGRES_FATAL_ERROR && late == ST_OK)
            late = judge(db, result, NULL);
        db->pq->PQclear(result);
    }
    return db->pq->PQexitPipelineMode(db->conn) ? late : session_lost(db);
}

static enum status send_steps(struct db *db, const struct step *steps, size_t count)
{
    static const struct db_params none;

    if (!db->pq->PQenterPipelineMode(db->conn))
        return session_lost(db);
    for (size_t i = 0; i < count; i++) {
        const struct db_params *p = steps[i].params != NULL ? steps[i].params : &none;

        if (p->overflow)
            return ST_INTERNAL;
        if (!db->pq->PQsendQueryParams(db->conn, steps[i].sql, p->count, p->type, p->value,
                                       p->length, p->format, 0))
            return session_lost(db);
    }
    if (!db->pq->PQpipelineSync(db->conn))
        return session_lost(db);
    return flush(db);
}

/* All steps in one round trip. The first failure is the flight's; the server skips what
 * follows it. The result of step `keep` goes into *result. */
static enum status fly(struct db *db, const struct step *steps, size_t count, size_t keep,
                       PGresult **result)
{
    enum status status, first = ST_OK;

    *result = NULL;
    status = send_steps(db, steps, count);
    for (size_t i = 0; status == ST_OK && i < count; i++) {
        first = land(db, steps[i].tag, i == keep ? result : NULL);
        if (first != ST_OK)
            break;
    }
    if (first == ST_DB_LOST || status == ST_INTERNAL)
        session_hang_up(db);
    if (status == ST_OK && db->conn != NULL)
        status = land_sync(db);
    if (first != ST_OK)
        status = first; /* the cause, not what followed from it */
    if (status != ST_OK && *result != NULL) {
        db->pq->PQclear(*result);
        *result = NULL;
    }
    return status;
}

static enum status keep_rows(struct db *db, PGresult *result, struct db_rows **rows)
{
    *rows = malloc(sizeof(**rows));
    if (*rows == NULL) {
        db->pq->PQclear(result);
        return ST_NOMEM;
    }
    (*rows)->pq = db->pq;
    (*rows)->result = result;
    return ST_OK;
}

enum status db_query(struct db *db, const char *sql, const struct db_params *params,
                     struct db_rows **rows)
{
    struct step step = {sql, params, NULL};
    PGresult *result;
    enum status status;

    *rows = NULL;
    if (db->conn == NULL)
        return ST_DB_LOST;
    status = fly(db, &step, 1, 0, &result);
    return status == ST_OK ? keep_rows(db, result, rows) : status;
}

enum status db_script(struct db *db, const char *sql)
{
    enum status status, first = ST_OK;
    PGresult *result;

    if (db->conn == NULL)
        return ST_DB_LOST;
    if (!db->pq->PQsendQuery(db->conn, sql))
        return session_lost(db);
    status = flush(db);
    while (status == ST_OK) {
        status = next_result(db, &result);
        if (status != ST_OK || result == NULL)
            break;
        if (first == ST_OK)
            first = judge(db, result, NULL);
        db->pq->PQclear(result);
    }
    return status == ST_OK ? first : status;
}

/* Leaves the session without a transaction, or without a session. */
static void roll_back(struct db *db)
{
    char cause[DB_ERROR_MAX];

    if (db->conn == NULL || db->pq->PQtransactionStatus(db->conn) == PQTRANS_IDLE)
        return;
    memcpy(cause, db->error, sizeof(cause));
    if (db_script(db, "ROLLBACK") != ST_OK)
        session_hang_up(db);
    memcpy(db->error, cause, sizeof(cause));
}

static const char limits_sql[] =
    "SELECT set_config('statement_timeout', $1, true),\n"
    "       set_config('lock_timeout', $2, true),\n"
    "       set_config('idle_in_transaction_session_timeout', $1, true)";

enum status db_transaction(struct db *db, const struct db_limits *limits, const char *sql,
                           const struct db_params *params, struct db_rows **rows)
{
    char statement_ms[16], lock_ms[16];
    struct db_params limit = {0};
    const struct step steps[] = {
        {"BEGIN ISOLATION LEVEL READ COMMITTED", NULL, "BEGIN"},
        {limits_sql, &limit, NULL},
        {sql, params, NULL},
        {"COMMIT", NULL, "COMMIT"}, /* a failed transaction would answer ROLLBACK */
    };
    PGresult *result;
    enum status status;

    *rows = NULL;
    if (db->conn == NULL)
        return ST_DB_LOST;
    snprintf(statement_ms, sizeof(statement_ms), "%d", limits->statement_ms);
    snprintf(lock_ms, sizeof(lock_ms), "%d", limits->lock_ms);
    db_text(&limit, statement_ms);
    db_text(&limit, lock_ms);
    status = fly(db, steps, ARRAY_LEN(steps), 2, &result);
    if (status != ST_OK) {
        roll_back(db);
        return status;
    }
    return keep_rows(db, result, rows);
}

int db_rows_count(const struct db_rows *rows)
{
    return rows->pq->PQntuples(rows->result);
}

const char *db_value(const struct db_rows *rows, int row, int column)
{
    if (rows->pq->PQgetisnull(rows->result, row, column))
        return NULL;
    return rows->pq->PQgetvalue(rows->result, row, column);
}

void db_rows_free(struct db_rows *rows)
{
    if (rows == NULL)
        return;
    rows->pq->PQclear(rows->result);
    free(rows);
}
