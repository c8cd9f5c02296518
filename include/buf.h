/* buf.h: bytes that grow up to a cap.
 * A buf owns its memory; buf_release frees it and is legal on a zeroed struct.
 * Once an addition failed (cap or memory) the buf stays failed and additions do
 * nothing, so a chain of additions is checked once, by buf_failed. Its content is
 * always followed by a NUL that is not counted in len. */
#ifndef HOOKONCE_BUF_H
#define HOOKONCE_BUF_H

#include "compiler.h"
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* NULL until the first byte */
    size_t len;
    size_t room; /* bytes allocated */
    size_t cap;  /* most bytes it may hold */
    bool failed;
};

void buf_init(struct buf *b, size_t cap);
void buf_release(struct buf *b);
/* Overwrites what it held, then releases it. */
void buf_wipe(struct buf *b);

void buf_add(struct buf *b, const void *data, size_t len);
void buf_text(struct buf *b, const char *text);
void buf_format(struct buf *b, const char *format, ...) PRINTF_LIKE(2, 3);
/* Room for len more bytes, to be filled by the caller and then counted by buf_grew.
 * NULL when there is none. */
char *buf_space(struct buf *b, size_t len) MUST_CHECK;
void buf_grew(struct buf *b, size_t len);
/* Whether any addition failed. */
bool buf_failed(const struct buf *b) MUST_CHECK;

#endif
