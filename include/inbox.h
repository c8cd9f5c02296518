/* inbox.h: the transactions of a delivery. Each is one function: what it writes, and when it
 * commits. On entry no transaction is open on the session, and none is on return. The session must
 * be ready and its deadline set (db.h); when it is lost the call returns, and the caller runs the
 * whole transaction again: the receipt's key decides, so that is safe even when the answer to
 * COMMIT was lost. */
#ifndef HOOKONCE_INBOX_H
#define HOOKONCE_INBOX_H

#include "apply.h"
#include "compiler.h"
#include "db.h"
#include "event.h"
#include "handler.h"
#include "status.h"

/* One delivery's key and content. */
struct receipt {
    const char *provider;
    const char *endpoint;
    const struct event *event;
};

/* What there is to tell of a delivery that ended well. */
struct received {
    enum outcome outcome;
    bool other_body;    /* duplicate: its body says something else than the first one's */
    struct park parked; /* why it was parked */
    bool deferred;      /* accepted because the effect failed or was too slow */
};

/* For db_transaction: statement and lock limits well below a web server's patience
 * (mod_fcgid kills 8 s after SIGTERM). */
extern const struct db_limits inbox_limits;

/* Seconds to wait before the next attempt, as SQL over the number of attempts so far:
 * doubled each time up to five minutes, and spread at random. */
#define INBOX_BACKOFF(attempts)                                                                    \
    "make_interval(secs => least(300, 2 ^ least(" attempts ", 20)) * random())"

/* Commits the receipt and the handler's effect in one transaction, in one round trip.
 * handler NULL: ignored. ST_OK means committed. */
enum status receive_sync(struct db *db, const struct receipt *receipt,
                         const struct handler *handler, struct received *received) MUST_CHECK;

/* Commits the receipt alone, in one round trip: accepted, or duplicate; parked at once
 * when the handler in C cannot read the event and no function is bound in its stead: only
 * now are its exact bytes at hand (jsonb makes 2000 of 2e3). */
enum status receive_async(struct db *db, const struct receipt *receipt,
                          const struct handler *handler, struct received *received) MUST_CHECK;

/* Commits a receipt that is not for this endpoint, as ignored, with the reason. It stays
 * so: giving back what was ignored for want of a handler leaves it alone. */
enum status receive_unwanted(struct db *db, const struct receipt *receipt, const char *why,
                             struct received *received) MUST_CHECK;

/* As receive_sync, but within limit_ms; when the effect fails or is too slow it is rolled
 * back and the receipt committed with its error and first attempt: accepted. */
enum status receive_auto(struct db *db, const struct receipt *receipt,
                         const struct handler *handler, int limit_ms,
                         struct received *received) MUST_CHECK;

#endif
