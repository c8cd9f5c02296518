#include "secret.h"

#include <stdlib.h>
#include <string.h>

enum status secrets_add(struct secrets *s, const char *text, size_t len)
{
    char *copy;

    if (len == 0 || s->count == SECRETS_MAX)
        return ST_CONF;
    copy = malloc(len);
    if (copy == NULL)
        return ST_NOMEM;
    memcpy(copy, text, len);
    s->of[s->count].text = copy;
    s->of[s->count].len = len;
    s->count++;
    return ST_OK;
}

void secrets_release(struct secrets *s)
{
    for (int i = 0; i < s->count; i++) {
        explicit_bzero(s->of[i].text, s->of[i].len);
        free(s->of[i].text);
    }
    memset(s, 0, sizeof(*s));
}
