/* apply.h: the one statement that writes a receipt together with what its event does.
 * Which handler that is, is judged inside it: a function bound in webhook_handlers, if it
 * is more specific than the handler in C or as specific, else the handler in C; so a binding is
 * in force at its COMMIT, and costs no round trip. */
#ifndef HOOKONCE_APPLY_H
#define HOOKONCE_APPLY_H

#include "compiler.h"
#include "db.h"
#include "event.h"
#include "handler.h"
#include "status.h"

enum outcome {
    OUTCOME_PROCESSED, /* receipt and effect are committed */
    OUTCOME_DUPLICATE, /* a receipt was there; its count of deliveries is committed */
    OUTCOME_IGNORED,   /* no handler: the receipt alone is committed */
    OUTCOME_ACCEPTED,  /* the receipt alone is committed: a worker will work it */
    OUTCOME_PARKED     /* no repeat can help: committed at rest, with a review */
};

/* "processed", … */
const char *outcome_word(enum outcome outcome);

/* $1 provider, $2 endpoint, $3 event id, $4 type; $5 to $8 are write's own. Then $9 the
 * outcome, $10 why to park, and from $11 on the handler's. */
#define APPLY_RECEIPT_PARAMS 8

/* Says a review that was there already once more: open again, with its news. */
#define APPLY_REVIEW_AGAIN                                                                         \
    "ON CONFLICT (provider, endpoint, event_id, reason)\n"                                         \
    "  DO UPDATE SET detail = excluded.detail, created_at = now(),\n"                              \
    "                resolved_at = NULL, note = NULL\n"

/* What is applied. */
struct applying {
    /* Writes the receipt, as w, from the relation bound(handler, outcome): outcome is null
     * when the event is to be parked, $10 is then the reason. Up to RETURNING. */
    const char *write;
    const struct handler *handler; /* the one in C, NULL: none */
    const struct event *event;
    struct db_params receipt; /* $1 to $8 */
};

/* Runs it as a transaction (db_transaction). OUTCOME_DUPLICATE: write found nothing to
 * write. OUTCOME_PARKED: the handler in C cannot read the event, or the function raised
 * SQLSTATE HK001; *park has the reason. */
enum status apply_event(struct db *db, const struct db_limits *limits, const struct applying *what,
                        enum outcome *outcome, struct park *park) MUST_CHECK;

#endif
