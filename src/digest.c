#include "digest.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

/* The algorithm is fetched once: fetching is what costs. */
static EVP_MAC *hmac_algorithm(void)
{
    static OSSL_LIB_CTX *context;
    static EVP_MAC *hmac;

    if (context == NULL)
        context = OSSL_LIB_CTX_new();
    if (context != NULL && hmac == NULL)
        hmac = EVP_MAC_fetch(context, "HMAC", NULL);
    return hmac;
}

enum status digest_hmac_sha256(const void *key, size_t key_len, const struct digest_part *parts,
                               size_t count, unsigned char out[DIGEST_SHA256_LEN])
{
    char sha256[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, sha256, 0),
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
    if (EVP_MAC_final(mac, out, &len, DIGEST_SHA256_LEN) && len == DIGEST_SHA256_LEN)
        status = ST_OK;
out:
    EVP_MAC_CTX_free(mac);
    return status;
}

bool digest_equal(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool digest_from_hex(const char *hex, size_t hex_len, unsigned char *out, size_t len)
{
    if (hex_len != len * 2)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

void digest_to_hex(const unsigned char *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}
