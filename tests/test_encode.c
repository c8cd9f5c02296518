#include "encode.h"

#include <criterion/criterion.h>
#include <string.h>

/* Guards that all byte values go there and back, in both encodings. */
Test(encode, there_and_back)
{
    unsigned char bytes[256], back[256];
    struct buf text;
    size_t len;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    for (int e = ENCODE_HEX; e <= ENCODE_BASE64; e++) {
        for (size_t n = 1; n <= sizeof(bytes); n++) {
            buf_init(&text, 1024);
            encode((enum encoding)e, bytes, n, &text);
            cr_assert(!buf_failed(&text));
            cr_assert(decode((enum encoding)e, text.data, text.len, back, sizeof(back), &len));
            cr_assert(len == n && memcmp(bytes, back, n) == 0, "%d: %zu bytes", e, n);
            cr_expect_not(decode((enum encoding)e, text.data, text.len, back, n - 1, &len));
            buf_release(&text);
        }
    }
}

/* Guards the texts themselves: RFC 4648, section 10. */
Test(encode, rfc4648)
{
    static const char *const base64[] = {"Zg==",     "Zm8=",     "Zm9v",
                                         "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    static const char *const hex[] = {"66",       "666f",       "666f6f",
                                      "666f6f62", "666f6f6261", "666f6f626172"};
    struct buf text;

    for (size_t n = 1; n <= 6; n++) {
        buf_init(&text, 64);
        encode(ENCODE_BASE64, "foobar", n, &text);
        buf_text(&text, " ");
        encode(ENCODE_HEX, "foobar", n, &text);
        cr_expect_eq(strncmp(text.data, base64[n - 1], strlen(base64[n - 1])), 0, "%s", text.data);
        cr_expect_str_eq(strchr(text.data, ' ') + 1, hex[n - 1]);
        buf_release(&text);
    }
    cr_expect_str_eq(encode_name(ENCODE_HEX), "hex");
    cr_expect_str_eq(encode_name(ENCODE_BASE64), "base64");
}

/* Guards promise 5: only the text that a sender writes is taken for a signature. */
Test(encode, refused)
{
    static const char *const hex[] = {
        "0",    "00f",  "00ff0", "00FF", "00fg", "0x0f", "00f ",       " 00f",
        "00-1", "00f/", "00f:",  "00f`", "00f@", "+0ff", "00\xc3\xa4",
    };
    static const char *const base64[] = {
        "",
        "Z",
        "Zg",
        "Zg=",
        "Zh==",
        "Zm9",
        "Zm9=",
        "Zm9v=",
        "=Zm9",
        "Zm 9v",
        "Zm9v\n",
        " Zm9v",
        "Zg==Zg==",
        "Z===",
        "====",
        "Zm-v",
        "Zm_v",
        "Zm9v====",
        "Zm9vZ",
        "\xc3\xa4"
        "9v",
    };
    unsigned char out[64];
    size_t len;

    cr_expect(decode(ENCODE_HEX, "00ff", 4, out, 2, &len) && len == 2 && out[1] == 255);
    cr_expect_not(decode(ENCODE_HEX, "00f\0", 4, out, 2, &len), "a NUL is no digit");
    for (size_t i = 0; i < ARRAY_LEN(hex); i++)
        cr_expect_not(decode(ENCODE_HEX, hex[i], strlen(hex[i]), out, sizeof(out), &len), "\"%s\"",
                      hex[i]);
    for (size_t i = 0; i < ARRAY_LEN(base64); i++)
        cr_expect_not(decode(ENCODE_BASE64, base64[i], strlen(base64[i]), out, sizeof(out), &len),
                      "\"%s\"", base64[i]);
}
