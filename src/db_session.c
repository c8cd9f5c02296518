#include "db_session.h"

#include "clock.h"
#include "db_hosts.h"
#include "sqlstate.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct db *db_new(const char *conninfo)
{
    struct db *db = calloc(1, sizeof(*db));

    if (db == NULL)
        return NULL;
    db->name = "hookonce";
    db->conninfo = strdup(conninfo);
    if (db->conninfo == NULL) {
        free(db);
        return NULL;
    }
    return db;
}

void db_set_name(struct db *db, const char *name)
{
    db->name = name;
}

void session_hang_up(struct db *db)
{
    if (db->conn != NULL)
        db->pq->PQfinish(db->conn);
    db->conn = NULL;
}

void db_free(struct db *db)
{
    if (db == NULL)
        return;
    session_hang_up(db);
    explicit_bzero(db->conninfo, strlen(db->conninfo));
    free(db->conninfo);
    free(db);
}

void db_until(struct db *db, int64_t deadline_ms)
{
    db->deadline = deadline_ms;
}

int64_t db_deadline(const struct db *db)
{
    return db->deadline;
}

const char *db_error(const struct db *db)
{
    return db->error;
}

enum status session_lost(struct db *db)
{
    sqlstate_describe(NULL, db->pq->PQerrorMessage(db->conn), db->error, sizeof(db->error));
    session_hang_up(db);
    return ST_DB_LOST;
}

/* Waits for the session's socket. Past the deadline the session is given up. */
enum status session_wait(struct db *db, short events, short *got)
{
    struct pollfd p = {db->pq->PQsocket(db->conn), events, 0};
    int left, ready;

    do {
        left = clock_left(db->deadline);
        ready = left == 0 ? 0 : poll(&p, 1, left);
    } while (ready < 0 && errno == EINTR);
    *got = p.revents;
    if (ready > 0)
        return ST_OK;
    snprintf(db->error, sizeof(db->error), "----- no answer within the time limit");
    session_hang_up(db);
    return ST_DB_TIMEOUT;
}

static void no_notice(void *arg UNUSED, const char *message UNUSED)
{
}

/* The server lets nobody in, is starting up, or has no such database: the message says. */
static enum status refused(struct db *db)
{
    (void)session_lost(db);
    return ST_DB_DOWN;
}

static enum status connect_wait(struct db *db)
{
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    enum status status;
    short got;

    if (db->conn == NULL || db->pq->PQstatus(db->conn) == CONNECTION_BAD)
        return db->conn == NULL ? ST_NOMEM : refused(db);
    while (next != PGRES_POLLING_OK) {
        status = session_wait(db, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, &got);
        if (status != ST_OK)
            return status;
        next = db->pq->PQconnectPoll(db->conn);
        if (next == PGRES_POLLING_FAILED)
            return refused(db);
    }
    return ST_OK;
}

/* Must hold every event: whatever is in UTF-8. */
static enum status check_encoding(struct db *db)
{
    const char *encoding = db->pq->PQparameterStatus(db->conn, "server_encoding");

    if (encoding != NULL && strcmp(encoding, "UTF8") == 0)
        return ST_OK;
    snprintf(db->error, sizeof(db->error), "----- the database's encoding is %s, not UTF8",
             encoding == NULL ? "unknown" : encoding);
    session_hang_up(db);
    return ST_DB_CHARSET;
}

static enum status connect_host(struct db *db, const struct db_host *host)
{
    /* What stands behind dbname wins over the connection string; an empty one does not. */
    const char *const keys[] = {
        "dbname", "host", "hostaddr", "port", "client_encoding", "fallback_application_name", NULL};
    const char *const values[] = {db->conninfo, host->host, host->hostaddr, host->port, "UTF8",
                                  db->name,     NULL};
    enum status status;

    db->conn = db->pq->PQconnectStartParams(keys, values, 1);
    status = connect_wait(db);
    if (status == ST_OK)
        status = check_encoding(db);
    if (status != ST_OK)
        return status;
    db->pq->PQsetNoticeProcessor(db->conn, no_notice, NULL);
    return db->pq->PQsetnonblocking(db->conn, 1) == 0 ? ST_OK : session_lost(db);
}

/* Each host in turn, with an even share of the time that is left. */
static enum status connect_db(struct db *db)
{
    int64_t whole = db->deadline;
    const char *why = NULL;
    struct db_hosts hosts;
    enum status status = ST_DB_DOWN;

    if (db->pq == NULL && (db->pq = pq_load(&why)) == NULL) {
        snprintf(db->error, sizeof(db->error), "----- libpq cannot be loaded: %s", why);
        return ST_DB_DOWN;
    }
    db_hosts_parse(db->pq, db->conninfo, &hosts);
    for (int i = 0; i < hosts.count && status != ST_OK; i++) {
        if (i + 1 < hosts.count)
            db->deadline = clock_ms() + clock_left(whole) / (hosts.count - i);
        status = connect_host(db, &hosts.of[i]);
        db->deadline = whole;
    }
    return status;
}

/* An idle session has nothing to say: what can be read is its end, or a notice. */
static bool alive(struct db *db)
{
    struct pollfd p = {db->pq->PQsocket(db->conn), POLLIN, 0};

    while (poll(&p, 1, 0) > 0) {
        if (!db->pq->PQconsumeInput(db->conn))
            return false;
    }
    return db->pq->PQstatus(db->conn) == CONNECTION_OK &&
           db->pq->PQtransactionStatus(db->conn) == PQTRANS_IDLE;
}

enum status db_ready(struct db *db)
{
    db->error[0] = '\0';
    if (db->conn != NULL && !alive(db))
        session_hang_up(db);
    return db->conn != NULL ? ST_OK : connect_db(db);
}
