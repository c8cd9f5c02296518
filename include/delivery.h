/* delivery.h: what is known of one request while it is handled, and its log line.
 * Owns the body, the verified body and the event, in the order in which they were made. */
#ifndef HOOKONCE_DELIVERY_H
#define HOOKONCE_DELIVERY_H

#include "conf.h"
#include "event.h"
#include "http.h"
#include "inbox.h"
#include "scheme.h"

struct delivery {
    const struct http_request *request;
    int64_t began; /* clock.h, milliseconds */
    const struct conf_endpoint *endpoint;
    struct buf body;
    struct scheme_facts signature;
    struct verified *verified;
    struct event event;
    const char *asked; /* a question that was answered and not recorded; NULL: none */
    struct received received;
    const char *db_error;   /* "" or what the database said */
    const char *conf_error; /* "" or what is wrong with the configuration */
    int tries;              /* transactions begun */
};

void delivery_init(struct delivery *d, const struct http_request *request);
void delivery_release(struct delivery *d);

/* The one log line. Refusals beyond a few a second are counted and told as a number. */
void delivery_log(const struct delivery *d, enum status status);

#endif
