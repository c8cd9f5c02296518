/* http.h: one request and its reply, whatever carried them.
 * Two transports stand behind it, http_cgi.c (environment and stdin) and http_fcgi.c
 * (libfcgi): nothing else knows environ or libfcgi. A request lives for one call of
 * the handler and owns nothing that outlives it. The reply leaves in one piece after
 * the handler returned: never before COMMIT, always with a well-formed Status line. */
#ifndef HOOKONCE_HTTP_H
#define HOOKONCE_HTTP_H

#include "buf.h"
#include "compiler.h"
#include "status.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HTTP_BODY_SECONDS   10        /* a whole body must be there within this time */
#define HTTP_DRAIN_MAX      (8 << 20) /* bytes read and thrown away before an answer */
#define HTTP_RETRY_AFTER    10        /* seconds, in a 503 */
#define HTTP_LENGTH_UNKNOWN UINT64_MAX

struct http_request {
    void *io; /* the transport's own */
    /* A CGI variable ("HTTP_STRIPE_SIGNATURE"), NULL when it is absent. */
    const char *(*param)(void *io, const char *name);
    /* Up to len bytes of the body. 0: its end. -1: it broke off. -2: out of time. */
    ssize_t (*read)(void *io, void *to, size_t len);
    bool body_ends; /* the body's stream has an end of its own (FastCGI, chunked CGI) */
};

struct http_reply {
    enum status status;  /* decides the HTTP code */
    const char *outcome; /* with ST_OK: the word in the body */
    bool head;           /* answer to HEAD: headers alone */
    struct buf answer;   /* with ST_OK: a JSON body in the outcome's place, "" without */
};

/* The variable, NULL when it is absent or empty. */
const char *http_param(const struct http_request *request, const char *name);

/* A header by the name a sender writes ("Stripe-Signature"), NULL as above. */
const char *http_header(const struct http_request *request, const char *name);

/* The declared length of the body; HTTP_LENGTH_UNKNOWN when the stream's own end
 * bounds it. ST_LENGTH, ST_LENGTH_MISSING. Reads nothing. */
enum status http_length(const struct http_request *request, uint64_t *length) MUST_CHECK;

/* Reads the whole body: exactly length bytes, or to the stream's end; at most max.
 * ST_BODY_SHORT, ST_BODY_LONG, ST_BODY_SLOW, ST_TOO_LARGE, ST_NOMEM. */
enum status http_body(const struct http_request *request, uint64_t length, size_t max,
                      struct buf *body) MUST_CHECK;

/* Reads what is left of the body and throws it away, bounded in bytes and time: a peer
 * that is still writing would otherwise see a reset instead of the answer. */
void http_drain(const struct http_request *request);

/* The whole answer as a CGI program writes it. */
void http_format(const struct http_reply *reply, struct buf *out);

/* The body of an answer: reply->answer, {"outcome":"…"} or {"error":"…"}. */
void http_format_body(const struct http_reply *reply, struct buf *out);

/* What a program does with a request. Must fill the reply and write its log line. */
struct http_handler {
    void (*handle)(void *self, struct http_request *request, struct http_reply *reply);
    void (*after)(void *self); /* once the answer is out and its connection closed */
    void *self;
};

/* Serves until a stop is asked for: requests from the listening socket on fd 0
 * (FastCGI), or, when fd 0 is none, the one request in the environment (CGI).
 * Calls stop_install. Returns the exit code. */
int http_serve(const struct http_handler *handler);

/* The two transports, for http_serve alone. */
int http_serve_cgi(const struct http_handler *handler);
int http_serve_fcgi(const struct http_handler *handler);

#endif
