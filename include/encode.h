/* encode.h: bytes as text, in hex and in base64 (RFC 4648, with padding).
 * Reading is strict: a text is taken only when writing what it holds gives the same text
 * again, so that two texts are never one signature. Owns nothing. */
#ifndef HOOKONCE_ENCODE_H
#define HOOKONCE_ENCODE_H

#include "buf.h"
#include "compiler.h"
#include <stdbool.h>
#include <stddef.h>

enum encoding {
    ENCODE_HEX, /* lower case: no sender writes capitals, and the official SDKs take none */
    ENCODE_BASE64
};

/* "hex", "base64". */
const char *encode_name(enum encoding encoding);

/* Appends the text of len bytes. */
void encode(enum encoding encoding, const void *bytes, size_t len, struct buf *out);

/* The bytes behind a text into out, at most room of them. False for any other text. */
bool decode(enum encoding encoding, const char *text, size_t len, unsigned char *out, size_t room,
            size_t *out_len) MUST_CHECK;

#endif
