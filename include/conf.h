/* conf.h: the configuration, read once and then only looked at.
 * A file in INI form, or the environment alone (DATABASE_URL, STRIPE_WEBHOOK_SECRET).
 * One table (conf_keys.c) has every key: it reads, checks and prints them. A mistake is
 * one message with the file, the line and what to do. Owns all it points to; secrets
 * are wiped when it is freed. Never talks to the database. */
#ifndef HOOKONCE_CONF_H
#define HOOKONCE_CONF_H

#include "buf.h"
#include "compiler.h"
#include "scheme.h"
#include "secret.h"
#include "status.h"
#include <stdbool.h>
#include <stddef.h>

#define CONF_ENDPOINTS_MAX 64
#define CONF_DEADLINE_MS   4000 /* most, and unless set, for an effect in mode auto */
#define CONF_ERROR_MAX     1024
#define CONF_NAME_MAX      40
#define CONF_KEPT_MAX      16
#define CONF_PATH_MAX      1024

/* A secret as it is written: literal, env:NAME or file:PATH. */
struct conf_secret {
    char *text;
    int line;
};

/* What a delivery does before it is answered. */
enum conf_mode {
    MODE_SYNC,  /* receipt and effect */
    MODE_ASYNC, /* the receipt; a worker does the rest */
    MODE_AUTO   /* as sync, within the deadline; else as async */
};

struct conf_endpoint {
    char *name; /* the receipt's endpoint */
    char *path; /* NULL: answers on every path */
    struct scheme_policy policy;
    size_t max_body; /* bytes */
    enum conf_mode mode;
    int deadline_ms; /* of mode auto */
    int livemode;    /* 1 or 0: applies such events alone; -1: both */
    char *account;   /* "none", "any", or the one account whose events are applied */
    int line;        /* of its section */
    int written_count;
    struct conf_secret written[SECRETS_MAX];
    struct scheme own; /* of provider hmac: its row is written here */
    int own_line;      /* of the first key that fills it, 0: none does */
    const char *own_key;
    int kept_count;
    char *kept[CONF_KEPT_MAX]; /* texts that policy and own point to */
};

struct conf {
    char *source; /* the file, or "the environment" */
    char *database;
    bool healthz;
    int drain_ms; /* work what waits, as long, after an answer; 0: off */
    int count;
    struct conf_endpoint endpoints[CONF_ENDPOINTS_MAX];
};

/* Where variables come from: the request's parameters first, then the process's
 * environment. A client can only make names that begin with HTTP_. */
struct conf_lookup {
    const char *(*param)(void *io, const char *name); /* NULL: the process's alone */
    void *io;
};

/* The variable, NULL when it is absent or empty. */
const char *conf_variable(const struct conf_lookup *lookup, const char *name);

/* Which file holds the configuration: HOOKONCE_CONF, ~/.hookonce.conf of the effective
 * user, /etc/hookonce.conf. "" when there is none: the environment alone then decides. */
void conf_find(const struct conf_lookup *lookup, char path[CONF_PATH_MAX]);

/* Reads path ("": the environment) into *out, to be freed by conf_free. With ST_CONF
 * error holds "FILE:LINE: what is wrong; what to do". */
enum status conf_load(const char *path, const struct conf_lookup *lookup, struct conf **out,
                      char error[CONF_ERROR_MAX]) MUST_CHECK;
void conf_free(struct conf *conf);

/* The endpoint that answers on a path, a final slash aside; NULL when there is none. */
const struct conf_endpoint *conf_route(const struct conf *conf, const char *path);
/* The endpoint of that name; NULL when there is none. */
const struct conf_endpoint *conf_endpoint(const struct conf *conf, const char *name);

/* A time such as 200ms, 50s, 5m, 3h, 30d, in milliseconds; at most 1000 days. */
bool conf_time(const char *text, long *ms) MUST_CHECK;

/* The effective configuration in the file's own form, secrets masked. */
void conf_print(const struct conf *conf, struct buf *out);

#endif
