/* status.h: every reason for which something can fail, and what follows from it.
 * One enum and one table (status.c): the word for the log and the answer, the HTTP
 * code, the exit code, whether the same work may be tried again at once.
 * No HTTP number and no exit number stands anywhere else. Owns no memory. */
#ifndef HOOKONCE_STATUS_H
#define HOOKONCE_STATUS_H

#include <stdbool.h>

enum status {
    ST_OK = 0,

    /* The request: nothing was read yet. */
    ST_METHOD,         /* not POST */
    ST_PATH,           /* no endpoint answers on this path */
    ST_LENGTH_MISSING, /* plain CGI without CONTENT_LENGTH: nothing bounds the body */
    ST_LENGTH,         /* CONTENT_LENGTH is no plain decimal */
    ST_TOO_LARGE,      /* longer than max_body */
    ST_ENCODING,       /* Content-Encoding other than identity */

    /* The body. */
    ST_BODY_SHORT, /* shorter than CONTENT_LENGTH, or its stream broke off */
    ST_BODY_LONG,  /* longer than CONTENT_LENGTH */
    ST_BODY_SLOW,  /* not there within the time limit */

    /* The signature. Could not tell is ST_INTERNAL, never one of these. */
    ST_SIG_MISSING,   /* the header is absent or empty */
    ST_SIG_MALFORMED, /* the header holds no time stamp or no signature of a known scheme */
    ST_SIG_T_TWICE,   /* the time stamp is given twice */
    ST_SIG_FORGED,    /* no signature matches under any secret */
    ST_SIG_STALE,     /* signed longer ago than the tolerance */
    ST_SIG_EARLY,     /* signed further in the future than the tolerance */
    ST_SIG_BODY,      /* the URL's digest of the body is missing or another one */

    /* The event. */
    ST_JSON,          /* not JSON as RFC 8259 has it, or not UTF-8 */
    ST_JSON_DEPTH,    /* nested deeper than EVENT_DEPTH_MAX */
    ST_JSON_OBJECT,   /* JSON, but not an object */
    ST_FORM,          /* a form with too many fields, or without the one that counts */
    ST_EVENT_ID,      /* no usable id */
    ST_EVENT_TYPE,    /* no usable type */
    ST_EVENT_ACCOUNT, /* an account that is no text */

    /* The database. */
    ST_DB_DOWN,    /* cannot be reached, or is full or out of memory */
    ST_DB_LOST,    /* the connection went away, or the server is read-only now */
    ST_DB_RETRY,   /* serialization failure or deadlock */
    ST_DB_TIMEOUT, /* a time limit of the transaction, or of the whole request */
    ST_DB_SQL,     /* any other SQL error: the handler failed */
    ST_DB_SCHEMA,  /* a table or a right is missing: migrate, or grant */
    ST_DB_CHARSET, /* the database is not in UTF8 */

    /* A verified event that no repeat can make good: it is parked, not refused. */
    ST_PARK,

    /* Ours. */
    ST_CONF,     /* the configuration is missing or wrong */
    ST_NOMEM,    /* out of memory */
    ST_INTERNAL, /* a library refused to work */
    ST_IO,       /* a file or an answer could not be read or written */
    ST_USAGE,    /* the operator's command line */
    ST_REFUSED,  /* the server at the other end said no */

    /* What hookonce status --check found: the exit codes of monitoring plugins. */
    ST_CHECK_WARNING,
    ST_CHECK_CRITICAL,
    ST_CHECK_UNKNOWN,

    ST_COUNT
};

/* A word such as "signature_stale": for the log and the answer's body. */
const char *status_word(enum status s);
/* A sentence for people, without a final full stop. */
const char *status_text(enum status s);
/* The HTTP code of an answer that ends with this status. */
int status_http(enum status s);
/* The exit code of a program that ends with this status (0 to 4, see status.c). */
int status_exit(enum status s);
/* Whether the whole transaction may be run again at once. */
bool status_retry(enum status s);

#endif
