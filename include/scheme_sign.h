/* scheme_sign.h: the sender's side of a scheme: the headers that a provider would put over
 * a body. For trying an endpoint out, for tests, and for what is sent onward. */
#ifndef HOOKONCE_SCHEME_SIGN_H
#define HOOKONCE_SCHEME_SIGN_H

#include "scheme.h"

struct scheme_signing {
    const struct scheme_policy *policy; /* its first secret signs */
    const void *body;
    size_t len;
    int64_t time;     /* seconds since 1970 */
    const char *id;   /* of the event, where a header tells it; NULL: made of the body's digest */
    const char *type; /* of the event, where a header tells it; NULL: no such header */
    bool form;        /* the body is a form */
    bool forged;      /* sign something else */
};

/* Appends the header lines ("Stripe-Signature: t=…,v1=…"), each ended by a line feed; url
 * is what is called, and gets the body's digest in its query where the scheme has that.
 * ST_FORM, ST_NOMEM, ST_INTERNAL. */
enum status scheme_sign(const struct scheme_signing *s, struct buf *url,
                        struct buf *lines) MUST_CHECK;

#endif
