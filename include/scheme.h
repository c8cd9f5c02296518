/* scheme.h: who signed a request. One table has a row for each provider
 * (scheme_table.c); scheme_verify reads a request by its row.
 * It alone makes a struct verified, over the raw bytes, and an event is made from
 * nothing else: so nothing unverified reaches a parser, a handler or the database.
 * A verified points into the request and the body, and must not outlive them. */
#ifndef HOOKONCE_SCHEME_H
#define HOOKONCE_SCHEME_H

#include "buf.h"
#include "compiler.h"
#include "digest.h"
#include "encode.h"
#include "http.h"
#include "secret.h"
#include "status.h"
#include <stdint.h>

#define SCHEME_PLACES     5
#define SCHEME_SECRET_MAX 4096 /* bytes of a secret */

/* How a secret's text makes the key. */
enum scheme_key {
    KEY_OF_SCHEME, /* as the provider's row says */
    KEY_TEXT,      /* the whole text */
    KEY_BASE64     /* the bytes in base64 behind "whsec_", where that stands */
};

/* Where an event's id or type stands: "header:X-GitHub-Event", "body:event.type" (a
 * path in the JSON), "digest" (SHA-256 of the body), "is:TEXT" (always the same). */
struct scheme_place {
    const char *where;
    const char *prefix; /* put before what is found; may be NULL */
};

/* What a request with a form as its body carries. */
enum scheme_form {
    FORM_NONE,    /* bodies are JSON, whatever their type says */
    FORM_FIELDS,  /* the fields are the event */
    FORM_PAYLOAD, /* the field "payload" is the event in JSON */
    FORM_EITHER   /* that, where there is one, else the fields */
};

struct scheme {
    const char *provider;

    /* The header that holds the signatures: elements between separators (0: it holds
     * one), those that begin with label are signatures. */
    const char *header;
    char separator;
    const char *label;
    enum encoding encoding;

    /* What is signed: a text with {body}, {time}, {id}, {url} and {form} (the fields,
     * sorted). NULL: nothing is, the header holds the secret itself. */
    const char *content;
    enum digest_hash hash;
    enum scheme_key key;
    const char *id_header;
    bool ports;             /* the sender may have signed the URL with or without its port */
    const char *body_param; /* the query's digest of a body that content does not hold */

    /* When it was signed: an element of the header, or a header of its own. No
     * tolerance: it does not say. */
    const char *time_label;
    const char *time_header;
    int tolerance; /* seconds */
    bool ahead;    /* the future is bounded too */

    /* What it says. The first place that is there counts. */
    struct scheme_place id[SCHEME_PLACES];
    bool id_and_body; /* the id is not unique without the body's digest behind it */
    bool id_and_type; /* nor without the type */
    struct scheme_place type[SCHEME_PLACES];
    bool numbers;       /* an id may be a whole number */
    bool circumstances; /* account, livemode and created stand in the body as Stripe has them */
    enum scheme_form form;

    /* An event of this type is a question, answered with the body's member and not recorded. */
    const char *question;
    const char *answer;
    const char *ping; /* the one field of an unsigned form that asks whether we are there */

    const struct scheme *other; /* another form of signature of the same provider */
};

/* How the deliveries of one endpoint are verified. */
struct scheme_policy {
    const struct scheme *scheme;
    struct secrets secrets; /* texts, trimmed; owned */
    enum scheme_key key;
    const char *url; /* that the provider calls, for {url}; NULL: none was given */
    int tolerance;   /* seconds */
};

struct verified; /* a body whose signature holds */

/* What the log tells of a signature. */
struct scheme_facts {
    int secret;  /* position of the secret that matched, from 1; 0: none did */
    bool timed;  /* it says when it was signed */
    int64_t age; /* seconds from signing to now, negative in the future; only when timed */
    enum scheme_key other_key; /* forged, but good with the key made this way */
};

/* The provider's row, NULL when there is none. */
const struct scheme *scheme_find(const char *provider);
/* The n-th row, NULL behind the last: for messages and help. */
const struct scheme *scheme_at(size_t n);
/* Seconds that a signature may be old, unless the configuration says otherwise; 0 when none
 * of its forms tells a time. */
int scheme_tolerance(const struct scheme *scheme);
/* What to say of a provider that has none. */
extern const char scheme_unknown[];
/* Whether its signed content holds a part such as "{url}". */
bool scheme_signs(const struct scheme *scheme, const char *part);

/* Whether a text can be a scheme's content: known parts alone, {body} or {form} among
 * them, and not too many. */
bool scheme_content_known(const char *text) MUST_CHECK;

/* Checks and keeps a secret as it is configured. NULL when it is one, else what is
 * wrong with it, in words that do not quote it. */
const char *scheme_secret(struct scheme_policy *policy, const char *secret);
/* The key that a scheme makes of a secret's text; NULL when that cannot be decoded. *len is
 * its length; room holds SCHEME_SECRET_MAX bytes. */
const unsigned char *scheme_key_of(enum scheme_key key, const char *text, size_t text_len,
                                   unsigned char *room, size_t *len) MUST_CHECK;

/* Verifies the body against the request's headers under each of the secrets.
 * now: seconds since 1970. ST_SIG_* when it does not hold, ST_INTERNAL or ST_NOMEM when
 * that could not be told. facts is filled with ST_SIG_STALE too. With ST_OK the caller
 * frees *out by verified_free. */
enum status scheme_verify(const struct scheme_policy *policy, const struct http_request *request,
                          const struct buf *body, int64_t now, struct scheme_facts *facts,
                          struct verified **out) MUST_CHECK;

/* Whether this is the provider's unsigned question whether we are there: to be answered
 * with 200, and nothing recorded. */
bool scheme_ping(const struct scheme *scheme, const struct http_request *request,
                 const struct buf *body);

/* Whether the request's body is a form and the provider sends such. */
bool scheme_takes_form(const struct scheme *scheme, const struct http_request *request);

const char *verified_body(const struct verified *v);
size_t verified_len(const struct verified *v);
const struct scheme *verified_scheme(const struct verified *v);
/* A header of the request it came with, NULL when it is absent or empty. */
const char *verified_header(const struct verified *v, const char *name);
/* Whether its body is a form. */
bool verified_form(const struct verified *v);
void verified_free(struct verified *v);

#endif
