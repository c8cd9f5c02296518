/* db_session.h: what stands under db.h, for db.c and db_session.c alone: the session's
 * state, waiting for its socket under the deadline, and giving it up. */
#ifndef HOOKONCE_DB_SESSION_H
#define HOOKONCE_DB_SESSION_H

#include "db.h"
#include "pq.h"

struct db {
    const struct pq *pq; /* NULL until the first connection */
    PGconn *conn;        /* NULL: no session */
    char *conninfo;
    const char *name; /* application_name, unless the connection string has one */
    int64_t deadline; /* clock.h, milliseconds */
    char error[DB_ERROR_MAX];
};

/* Closes the socket; asks the server for nothing. */
void session_hang_up(struct db *db);
/* Keeps libpq's message and hangs up. Always ST_DB_LOST. */
enum status session_lost(struct db *db);
/* Waits for the socket (poll's events). Past the deadline it hangs up: ST_DB_TIMEOUT. */
enum status session_wait(struct db *db, short events, short *got) MUST_CHECK;

#endif
