/* secret.h: the secrets of an endpoint, in the order of the configuration.
 * Owns their bytes and wipes them when released. Never printed: the log names a secret
 * by its position, counted from 1. */
#ifndef HOOKONCE_SECRET_H
#define HOOKONCE_SECRET_H

#include "compiler.h"
#include "status.h"
#include <stddef.h>

#define SECRETS_MAX 8

struct secrets {
    int count;
    struct {
        char *text;
        size_t len;
    } of[SECRETS_MAX];
};

/* Copies a text. ST_NOMEM; ST_CONF when there are SECRETS_MAX already, or it is empty. */
enum status secrets_add(struct secrets *s, const char *text, size_t len) MUST_CHECK;
void secrets_release(struct secrets *s);

#endif
