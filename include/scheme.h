/* scheme.h: who signed a request. One table of providers (scheme.c).
 * scheme_verify alone makes a struct verified, over the raw bytes, and an event is made
 * from nothing else: so nothing unverified reaches a parser, a handler or the database.
 * A verified points into the body it was made over and must not outlive it. */
#ifndef HOOKONCE_SCHEME_H
#define HOOKONCE_SCHEME_H

#include "buf.h"
#include "compiler.h"
#include "http.h"
#include "secret.h"
#include "status.h"
#include <stdint.h>

struct scheme;   /* a row of the table */
struct verified; /* a body whose signature holds */

/* What the log tells of a signature. */
struct scheme_facts {
    int secret;  /* position of the secret that matched, from 1; 0: none did */
    int64_t age; /* seconds from signing to now, negative in the future; only with secret */
};

/* The provider's row, NULL when there is none. */
const struct scheme *scheme_find(const char *provider);
/* The row's provider: "stripe". */
const char *scheme_provider(const struct scheme *scheme);
/* Seconds that a signature may be old unless the configuration says otherwise. */
int scheme_tolerance(const struct scheme *scheme);
/* The n-th provider's name, NULL behind the last: for messages and help. */
const char *scheme_name(size_t n);

/* Turns a secret as it is configured into a key. NULL when it is one, else what is
 * wrong with it, in words that do not quote it. *key must be released by buf_wipe. */
const char *scheme_key(const struct scheme *scheme, const char *secret, struct buf *key);

/* Verifies the body against the request's headers under each of the secrets.
 * now: seconds since 1970; tolerance: seconds. ST_SIG_* when it does not hold,
 * ST_INTERNAL or ST_NOMEM when that could not be told. facts is filled with ST_SIG_STALE
 * too. With ST_OK the caller frees *out by verified_free. */
enum status scheme_verify(const struct scheme *scheme, const struct secrets *secrets,
                          const struct http_request *request, const struct buf *body, int64_t now,
                          int tolerance, struct scheme_facts *facts,
                          struct verified **out) MUST_CHECK;

/* Appends the header line ("Stripe-Signature: t=…,v1=…") that a sender would put over
 * the body at time t. */
enum status scheme_sign(const struct scheme *scheme, const unsigned char *key, size_t key_len,
                        const void *body, size_t len, int64_t t, struct buf *out) MUST_CHECK;

const char *verified_body(const struct verified *v);
size_t verified_len(const struct verified *v);
void verified_free(struct verified *v);

#endif
