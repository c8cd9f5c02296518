/* conf_keys.h: the table of configuration keys and the reading of a file, for the conf
 * modules alone. conf.c reads lines, conf_keys.c and conf_hmac.c set values, conf_check.c
 * judges the whole. */
#ifndef HOOKONCE_CONF_KEYS_H
#define HOOKONCE_CONF_KEYS_H

#include "conf.h"
#include <stdio.h>

#define CONF_SEEN_MAX 32

enum conf_section { CONF_GLOBAL, CONF_ENDPOINT };

/* What a key is set in. */
struct conf_target {
    struct conf *conf;
    struct conf_endpoint *endpoint; /* NULL in the global section */
    int line;
};

struct conf_key {
    enum conf_section section;
    const char *name;
    bool repeats; /* may be given more than once */
    /* NULL when the value was taken, else what is wrong with it and what to do. */
    const char *(*set)(struct conf_target *target, const char *value);
    void (*show)(const struct conf *conf, const struct conf_endpoint *endpoint, struct buf *out);
    const char *help;
};

/* One reading of a file: where it is, and the first thing that is wrong. */
struct conf_reading {
    FILE *file;
    struct conf_target target;
    const struct conf_lookup *lookup;
    enum conf_section where;
    const struct conf_key *seen[CONF_SEEN_MAX]; /* keys of this section so far */
    int seen_count;
    enum status status;
    char *error;
};

/* Keeps the first mistake. line 0: the file as a whole. */
void conf_mistake(struct conf_reading *r, int line, const char *format, ...) PRINTF_LIKE(3, 4);

/* Judges the file when all of it was read, and reads the secrets. */
void conf_check(struct conf_reading *r);
/* The secrets of one endpoint. */
void conf_take_secrets(struct conf_reading *r, struct conf_endpoint *e);

/* Letters, digits, - and _, so that a name can stand in a log line and a command. */
bool conf_plain_name(const char *name) MUST_CHECK;
/* A copy that lives as long as the endpoint; NULL without memory. */
const char *conf_keep(struct conf_endpoint *e, const char *text) MUST_CHECK;

/* The keys that describe a signature (conf_hmac.c). */
extern const struct conf_key conf_hmac_keys[];
extern const size_t conf_hmac_count;

/* NULL when there is no such key. */
const struct conf_key *conf_key_find(enum conf_section section, const char *name);
/* The n-th key, NULL behind the last. */
const struct conf_key *conf_key_at(size_t n);

#endif
