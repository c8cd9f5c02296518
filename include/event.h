/* event.h: what a provider says, read from a verified body and from nothing else.
 * Owns its JSON and, where one was needed, the text with replacements; text otherwise
 * points into the verified body, which must outlive the event. Open for reading. */
#ifndef HOOKONCE_EVENT_H
#define HOOKONCE_EVENT_H

#include "buf.h"
#include "compiler.h"
#include "scheme.h"
#include "status.h"
#include <json-c/json_object.h>
#include <stdint.h>

#define EVENT_DEPTH_MAX 512 /* levels of nesting */
#define EVENT_NAME_MAX  255 /* bytes of an id, a type, an account */

struct event {
    const char *id;
    const char *type;
    const char *account;      /* Stripe Connect's, NULL for the platform's own */
    int livemode;             /* Stripe's: 1, 0, or -1 when the event does not say */
    int64_t created;          /* Stripe's: seconds since 1970, 0 when it does not say */
    struct json_object *json; /* an object */
    const char *text;         /* what json-c read and jsonb is given */
    size_t len;
    const char *raw; /* the exact bytes, where text had to differ; else NULL */
    size_t raw_len;
    struct buf unwrapped; /* a form's text */
    struct buf fixed;
    struct buf id_text, type_text;
};

/* ST_JSON, ST_JSON_DEPTH, ST_JSON_OBJECT, ST_FORM, ST_EVENT_*, ST_NOMEM. Zeroes the event first;
 * event_release must follow whatever came. */
enum status event_parse(const struct verified *verified, struct event *event) MUST_CHECK;
/* The event of a receipt, which was verified before it was stored; scheme: its
 * provider's, NULL when there is none any more. The texts are the caller's and must outlive
 * the event. ST_JSON when the payload is no object, ST_NOMEM. */
enum status event_restore(const struct scheme *scheme, const char *id, const char *type,
                          const char *payload, struct event *event) MUST_CHECK;
void event_release(struct event *event);

/* Whether it is a question that the provider wants an answer to, and no event. */
bool event_asks(const struct event *event, const struct scheme *scheme) MUST_CHECK;
/* The answer to it, JSON. */
void event_answer(const struct event *event, const struct scheme *scheme, struct buf *out);

/* The object that the event is about: data.object. NULL for a thin event. */
struct json_object *event_object(const struct event *event);

#endif
