/* digest.h: keyed digests, and comparing them.
 * Wraps OpenSSL's EVP_MAC in a library context of its own, which reads no openssl.cnf:
 * that read costs a plain CGI run more than the digest does, and libpq's TLS still
 * gets the administrator's settings. Owns that context for the process's life.
 * digest_equal is the one function that MACs and secrets are compared by. */
#ifndef HOOKONCE_DIGEST_H
#define HOOKONCE_DIGEST_H

#include "compiler.h"
#include "status.h"
#include <stdbool.h>
#include <stddef.h>

#define DIGEST_SHA256_LEN 32

/* What is signed, in pieces, so that a body is never copied. */
struct digest_part {
    const void *data;
    size_t len;
};

/* HMAC-SHA256 (RFC 2104) over the parts, one after the other, into out.
 * ST_INTERNAL when OpenSSL refuses: that is "could not tell", not "forged". */
enum status digest_hmac_sha256(const void *key, size_t key_len, const struct digest_part *parts,
                               size_t count, unsigned char out[DIGEST_SHA256_LEN]) MUST_CHECK;

/* Whether len bytes are equal, in a time that does not depend on their values. */
bool digest_equal(const void *a, const void *b, size_t len) MUST_CHECK;

/* Lower-case hex of exactly len bytes into out. False for any other text: capital
 * digits too, which no sender writes and the official SDKs do not take. */
bool digest_from_hex(const char *hex, size_t hex_len, unsigned char *out, size_t len) MUST_CHECK;

/* 2 * len lower-case digits and a NUL into out. */
void digest_to_hex(const unsigned char *bytes, size_t len, char *out);

#endif
