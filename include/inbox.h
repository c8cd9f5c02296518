/* inbox.h: the transactions. Each is one function: what it writes, and when it commits.
 * On entry no transaction is open on the session, and none is on return. The session
 * must be ready and its deadline set (db.h); when it is lost the call returns, and the
 * caller runs the whole transaction again: the receipt's key decides, so that is safe
 * even when the answer to COMMIT was lost. */
#ifndef HOOKONCE_INBOX_H
#define HOOKONCE_INBOX_H

#include "compiler.h"
#include "db.h"
#include "event.h"
#include "handler.h"
#include "status.h"

enum outcome {
    OUTCOME_PROCESSED, /* receipt and effect are committed */
    OUTCOME_DUPLICATE, /* a receipt was there; its count of deliveries is committed */
    OUTCOME_IGNORED,   /* no handler: the receipt alone is committed */
    OUTCOME_PARKED     /* no repeat can help: committed at rest, with a review */
};

/* "processed", … */
const char *outcome_word(enum outcome outcome);

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
};

/* Commits the receipt and the handler's effect in one transaction, in one round trip.
 * handler NULL: ignored. ST_OK means committed. */
enum status receive_sync(struct db *db, const struct receipt *receipt,
                         const struct handler *handler, struct received *received) MUST_CHECK;

#endif
