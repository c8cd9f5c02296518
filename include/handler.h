/* handler.h: what an event does to the business tables.
 * A handler is a row: an effect, SQL over a relation named receipt, and a function that
 * reads the event and binds the effect's parameters. The effect runs in the statement
 * that writes the receipt, on the caller's connection and in the caller's transaction:
 * it never commits and never calls out. receipt holds this event's row (provider,
 * endpoint, event_id, account, livemode) exactly when it is this statement's to apply.
 *
 * To add one: write a file like handler_invoice.c, and name its table in handler.c. */
#ifndef HOOKONCE_HANDLER_H
#define HOOKONCE_HANDLER_H

#include "compiler.h"
#include "db.h"
#include "event.h"
#include "status.h"

/* Why an event can never be applied as it is: for a person to read. No payload. */
struct park {
    char why[DB_ERROR_MAX];
};

struct handler {
    const char *type;
    /* Further WITH queries, each ", name AS (…)", over receipt and the parameters from $11
     * on; NULL: the receipt is all. */
    const char *effect;
    /* Adds the effect's parameters. ST_PARK with *park filled when the event cannot be
     * read exactly; also where there is no effect. */
    enum status (*bind)(const struct event *event, struct db_params *params, struct park *park);
};

/* The handler for a provider's event type, NULL when there is none. */
const struct handler *handler_find(const char *provider, const char *type);

/* Adds the handler's parameters; handler may be NULL: none. ST_PARK with *park filled. */
enum status handler_bind(const struct handler *handler, const struct event *event,
                         struct db_params *params, struct park *park) MUST_CHECK;

/* Fills park with "FIELD WHY". Always ST_PARK. */
enum status handler_park(struct park *park, const char *field, const char *why);

/* The tables of the files that hold handlers. */
extern const struct handler handler_invoice[];
extern const size_t handler_invoice_count;

#endif
