#include "digest.h"

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
        char key[256], data[256], hex[2 * DIGEST_SHA256_LEN + 1];
        unsigned char mac[DIGEST_SHA256_LEN];
        size_t key_len = repeat(rfc4231[i].key, rfc4231[i].key_times, key);
        size_t data_len = repeat(rfc4231[i].data, rfc4231[i].data_times, data);
        const struct digest_part part = {data, data_len};

        cr_assert_eq(digest_hmac_sha256(key, key_len, &part, 1, mac), ST_OK, "%s", rfc4231[i].name);
        digest_to_hex(mac, sizeof(mac), hex);
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
        unsigned char mac[DIGEST_SHA256_LEN];
        char hex[2 * DIGEST_SHA256_LEN + 1];

        cr_assert_eq(digest_hmac_sha256("Jefe", 4, parts, ARRAY_LEN(parts), mac), ST_OK);
        digest_to_hex(mac, sizeof(mac), hex);
        cr_expect_str_eq(hex, rfc4231[1].mac, "cut at %zu: %s", cut, hex);
    }
}

/* Guards promise 5: one bit anywhere makes two digests differ. */
Test(digest, equal_sees_every_bit)
{
    unsigned char a[DIGEST_SHA256_LEN], b[DIGEST_SHA256_LEN];

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

/* Guards that all byte values go to hex and back. */
Test(digest, hex_there_and_back)
{
    unsigned char bytes[256], back[256];
    char hex[513];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    digest_to_hex(bytes, sizeof(bytes), hex);
    cr_expect_eq(strlen(hex), 512u);
    cr_expect_eq(strncmp(hex, "000102030405060708090a0b0c0d0e0f10", 34), 0, "%s", hex);
    cr_expect_eq(hex[strspn(hex, "0123456789abcdef")], '\0', "%s", hex);
    cr_assert(digest_from_hex(hex, 512, back, sizeof(back)));
    cr_expect_arr_eq(bytes, back, sizeof(bytes));
}

/* Guards that only the hex that a sender writes is taken for a signature. */
Test(digest, hex_refused)
{
    static const char *const bad[] = {
        "",     "0",    "00f",  "00ff0", "00FF", "00fg", "0x0f", "00f ",
        " 00f", "00-1", "00f/", "00f:",  "00f`", "00f@", "+0ff", "00\xc3\xa4",
    };
    unsigned char out[2];

    cr_expect(digest_from_hex("00ff", 4, out, sizeof(out)) && out[0] == 0 && out[1] == 255);
    cr_expect(digest_from_hex("", 0, out, 0));
    cr_expect_not(digest_from_hex("00f\0", 4, out, sizeof(out)), "a NUL is no digit");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(digest_from_hex(bad[i], strlen(bad[i]), out, sizeof(out)), "\"%s\"", bad[i]);
}
