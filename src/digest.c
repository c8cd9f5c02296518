#include "digest.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

static const struct {
    const char *name; /* as OpenSSL finds it, too */
    size_t len;
} hashes[] = {
    [DIGEST_SHA256] = {"sha256", 32},
    [DIGEST_SHA1] = {"sha1", 20},
    [DIGEST_SHA512] = {"sha512", 64},
};

const char *digest_name(enum digest_hash hash)
{
    return (size_t)hash < ARRAY_LEN(hashes) ? hashes[hash].name : NULL;
}

size_t digest_len(enum digest_hash hash)
{
    return hashes[hash].len;
}

static OSSL_LIB_CTX *context(void)
{
    static OSSL_LIB_CTX *context;

    if (context == NULL)
        context = OSSL_LIB_CTX_new();
    return context;
}

/* The algorithm is fetched once: fetching is what costs. */
static EVP_MAC *hmac_algorithm(void)
{
    static EVP_MAC *hmac;

    if (context() != NULL && hmac == NULL)
        hmac = EVP_MAC_fetch(context(), "HMAC", NULL);
    return hmac;
}

enum status digest_hmac(enum digest_hash hash, const void *key, size_t key_len,
                        const struct digest_part *parts, size_t count,
                        unsigned char out[DIGEST_MAX])
{
    /* OpenSSL's parameters have no const: the name is only read. */
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)digest_name(hash), 0),
        OSSL_PARAM_construct_end()};
    EVP_MAC *hmac = hmac_algorithm();
    EVP_MAC_CTX *mac = hmac == NULL ? NULL : EVP_MAC_CTX_new(hmac);
    enum status status = ST_INTERNAL;
    size_t len = 0;

    if (mac == NULL || !EVP_MAC_init(mac, key, key_len, params))
        goto out;
    for (size_t i = 0; i < count; i++) {
        if (!EVP_MAC_update(mac, parts[i].data, parts[i].len))
            goto out;
    }
    if (EVP_MAC_final(mac, out, &len, DIGEST_MAX) && len == digest_len(hash))
        status = ST_OK;
out:
    EVP_MAC_CTX_free(mac);
    return status;
}

enum status digest_plain(enum digest_hash hash, const void *data, size_t len,
                         unsigned char out[DIGEST_MAX])
{
    size_t out_len = 0;

    if (context() == NULL ||
        !EVP_Q_digest(context(), digest_name(hash), NULL, data, len, out, &out_len))
        return ST_INTERNAL;
    return out_len == digest_len(hash) ? ST_OK : ST_INTERNAL;
}

bool digest_equal(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}
