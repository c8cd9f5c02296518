/* receive.h: one request in, one reply and one log line out.
 * Everything is checked in order (method, path, length, body, signature, JSON) before
 * anything is done, and nothing touches the database before the signature holds. The
 * one place where a transaction is run again: twice at most, within the time budget.
 * Keeps the configuration and one session from request to request; a bad configuration
 * or a database that is down is answered, never died of. */
#ifndef HOOKONCE_RECEIVE_H
#define HOOKONCE_RECEIVE_H

#include "compiler.h"
#include "http.h"

#define RECEIVE_BUDGET_MS 5000 /* for all database work of one request */

struct receive;

/* NULL: no memory. Reads nothing yet: mod_fcgid's SetEnv comes with the first request. */
struct receive *receive_new(void) MUST_CHECK;
void receive_free(struct receive *rx);

/* A http_handler's function; self is a struct receive. */
void receive_handle(void *self, struct http_request *request, struct http_reply *reply);

/* A http_handler's after: works what waits, where drain is set. */
void receive_after(void *self);

#endif
