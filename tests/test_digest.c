#include "digest.h"

#include "encode.h"

#include <criterion/criterion.h>
#include <string.h>

/* RFC 4231, HMAC-SHA256; case 5 speaks of a cut digest, which is not offered. */
static const struct {
    const char *name;
    const char *key; /* this text repeated times times */
    size_t key_times;
    const char *data;
    size_t data_times;
    const char *mac;
} rfc4231[] = {
    {"case 1", "\x0b", 20, "Hi There", 1,
     "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {"case 2", "Jefe", 1, "what do ya want for nothing?", 1,
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {"case 3", "\xaa", 20, "\xdd", 50,
     "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
    {"case 4",
     "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16"
     "\x17\x18\x19",
     1, "\xcd", 50, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    {"case 6", "\xaa", 131, "Test Using Larger Than Block-Size Key - Hash Key First", 1,
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {"case 7", "\xaa", 131,
     "This is a test using a larger than block-size key and a larger than block-size data. The "
     "key needs to be hashed before being used by the HMAC algorithm.",
     1, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
};

/* Valid until the next call. */
static const char *hex_of(const unsigned char *bytes, size_t len)
{
    static struct buf hex;

    buf_release(&hex);
    buf_init(&hex, 2 * DIGEST_MAX);
    encode(ENCODE_HEX, bytes, len, &hex);
    return hex.data;
}

static size_t repeat(const char *text, size_t times, char out[256])
{
    size_t len = strlen(text);

    for (size_t i = 0; i < times; i++)
        memcpy(out + i * len, text, len);
    return len * times;
}

/* Guards promise 5: the digest is the one that senders compute. */
Test(digest, rfc4231)
{
    for (size_t i = 0; i < ARRAY_LEN(rfc4231); i++) {
        char key[256], data[256];
        const char *hex;
        unsigned char mac[DIGEST_MAX];
        size_t key_len = repeat(rfc4231[i].key, rfc4231[i].key_times, key);
        size_t data_len = repeat(rfc4231[i].data, rfc4231[i].data_times, data);
        const struct digest_part part = {data, data_len};

        cr_assert_eq(digest_hmac(DIGEST_SHA256, key, key_len, &part, 1, mac), ST_OK, "%s",
                     rfc4231[i].name);
        hex = hex_of(mac, 32);
        cr_expect_str_eq(hex, rfc4231[i].mac, "%s: %s", rfc4231[i].name, hex);
    }
}

/* Guards that a body signed in pieces has the digest of the whole, wherever it is cut. */
Test(digest, parts_are_one_text)
{
    static const char data[] = "what do ya want for nothing?";
    const size_t len = strlen(data);

    for (size_t cut = 0; cut <= len; cut++) {
        const struct digest_part parts[] = {{data, cut}, {NULL, 0}, {data + cut, len - cut}};
        unsigned char mac[DIGEST_MAX];
        const char *hex;

        cr_assert_eq(digest_hmac(DIGEST_SHA256, "Jefe", 4, parts, ARRAY_LEN(parts), mac), ST_OK);
        hex = hex_of(mac, 32);
        cr_expect_str_eq(hex, rfc4231[1].mac, "cut at %zu: %s", cut, hex);
    }
}

/* Guards promise 5: one bit anywhere makes two digests differ. */
Test(digest, equal_sees_every_bit)
{
    unsigned char a[32], b[32];

    memset(a, 0x5a, sizeof(a));
    memcpy(b, a, sizeof(b));
    cr_expect(digest_equal(a, b, sizeof(a)));
    for (size_t bit = 0; bit < sizeof(a) * 8; bit++) {
        b[bit / 8] ^= (unsigned char)(1u << bit % 8);
        cr_expect_not(digest_equal(a, b, sizeof(a)), "bit %zu", bit);
        b[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

/* Guards that equality is of bytes, a NUL is one like any other. */
Test(digest, equal_looks_behind_a_nul)
{
    cr_expect_not(digest_equal("a\0b", "a\0c", 3));
    cr_expect(digest_equal("a\0b", "a\0c", 2));
    cr_expect(digest_equal("a", "b", 0));
}

/* Guards the other hashes: RFC 2202 and RFC 4231, case 2 each, and FIPS 180-2's "abc". */
Test(digest, other_hashes)
{
    static const struct {
        enum digest_hash hash;
        const char *mac, *plain;
    } cases[] = {
        {DIGEST_SHA1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
         "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {DIGEST_SHA256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {DIGEST_SHA512,
         "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
         "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
         "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
         "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
    };
    static const char text[] = "what do ya want for nothing?";
    const struct digest_part part = {text, strlen(text)};
    unsigned char out[DIGEST_MAX];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = digest_len(cases[i].hash);

        cr_assert_eq(digest_hmac(cases[i].hash, "Jefe", 4, &part, 1, out), ST_OK);
        cr_expect_str_eq(hex_of(out, len), cases[i].mac);
        cr_assert_eq(digest_plain(cases[i].hash, "abc", 3, out), ST_OK);
        cr_expect_str_eq(hex_of(out, len), cases[i].plain);
    }
    cr_expect_str_eq(digest_name(DIGEST_SHA1), "sha1");
    cr_expect_null(digest_name((enum digest_hash)3));
}
