/* digest.h: digests, keyed and plain, and comparing them.
 * Wraps OpenSSL in a library context of its own, which reads no openssl.cnf: that read
 * costs a plain CGI run more than the digest does, and libpq's TLS still gets the
 * administrator's settings. Owns that context for the process's life.
 * digest_equal is the one function that MACs and secrets are compared by. */
#ifndef HOOKONCE_DIGEST_H
#define HOOKONCE_DIGEST_H

#include "compiler.h"
#include "status.h"
#include <stdbool.h>
#include <stddef.h>

#define DIGEST_MAX 64 /* bytes of the longest */

enum digest_hash { DIGEST_SHA256, DIGEST_SHA1, DIGEST_SHA512 };

/* What is signed, in pieces, so that a body is never copied. */
struct digest_part {
    const void *data;
    size_t len;
};

/* "sha256", …; NULL behind the last. */
const char *digest_name(enum digest_hash hash);
/* Bytes of a digest. */
size_t digest_len(enum digest_hash hash);

/* HMAC (RFC 2104) over the parts, one after the other; digest_len bytes into out.
 * ST_INTERNAL when OpenSSL refuses: that is "could not tell", not "forged". */
enum status digest_hmac(enum digest_hash hash, const void *key, size_t key_len,
                        const struct digest_part *parts, size_t count,
                        unsigned char out[DIGEST_MAX]) MUST_CHECK;

/* The digest without a key. ST_INTERNAL as above. */
enum status digest_plain(enum digest_hash hash, const void *data, size_t len,
                         unsigned char out[DIGEST_MAX]) MUST_CHECK;

/* Whether len bytes are equal, in a time that does not depend on their values. */
bool digest_equal(const void *a, const void *b, size_t len) MUST_CHECK;

#endif
