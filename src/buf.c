#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t cap)
{
    memset(b, 0, sizeof(*b));
    b->cap = cap;
}

void buf_release(struct buf *b)
{
    free(b->data);
    buf_init(b, b->cap);
}

void buf_wipe(struct buf *b)
{
    if (b->data != NULL)
        explicit_bzero(b->data, b->room);
    buf_release(b);
}

char *buf_space(struct buf *b, size_t len)
{
    size_t want;
    char *grown;

    if (b->failed)
        return NULL;
    if (len > b->cap - b->len)
        goto fail;
    if (b->len + len + 1 > b->room) {
        want = b->room < 128 ? 256 : b->room * 2;
        if (want > b->cap + 1)
            want = b->cap + 1;
        if (want < b->len + len + 1)
            want = b->len + len + 1;
        grown = realloc(b->data, want);
        if (grown == NULL)
            goto fail;
        b->data = grown;
        b->room = want;
    }
    return b->data + b->len;
fail:
    b->failed = true;
    return NULL;
}

void buf_grew(struct buf *b, size_t len)
{
    b->len += len;
    b->data[b->len] = '\0';
}

void buf_add(struct buf *b, const void *data, size_t len)
{
    char *to = buf_space(b, len);

    if (to == NULL)
        return;
    if (len > 0)
        memcpy(to, data, len);
    buf_grew(b, len);
}

void buf_text(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_format(struct buf *b, const char *format, ...)
{
    va_list args;
    char *to;
    int len;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    to = len < 0 ? NULL : buf_space(b, (size_t)len);
    if (to == NULL) {
        b->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(to, (size_t)len + 1, format, args);
    va_end(args);
    buf_grew(b, (size_t)len);
}

bool buf_failed(const struct buf *b)
{
    return b->failed;
}
