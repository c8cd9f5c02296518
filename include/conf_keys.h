/* conf_keys.h: the table of configuration keys, for conf.c alone. */
#ifndef HOOKONCE_CONF_KEYS_H
#define HOOKONCE_CONF_KEYS_H

#include "conf.h"

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

/* NULL when there is no such key. */
const struct conf_key *conf_key_find(enum conf_section section, const char *name);
/* The n-th key, NULL behind the last. */
const struct conf_key *conf_key_at(size_t n);

#endif
