#include "encode.h"

#include <openssl/evp.h>
#include <string.h>

enum { BASE64_MAX = 8192 };

const char *encode_name(enum encoding encoding)
{
    return encoding == ENCODE_HEX ? "hex" : "base64";
}

static void to_hex(const unsigned char *bytes, size_t len, struct buf *out)
{
    static const char digits[] = "0123456789abcdef";
    char *to = buf_space(out, 2 * len);

    if (to == NULL)
        return;
    for (size_t i = 0; i < len; i++) {
        to[2 * i] = digits[bytes[i] >> 4];
        to[2 * i + 1] = digits[bytes[i] & 15];
    }
    buf_grew(out, 2 * len);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static bool from_hex(const char *text, size_t len, unsigned char *out, size_t room, size_t *out_len)
{
    if (len % 2 != 0 || len / 2 > room)
        return false;
    for (size_t i = 0; i < len / 2; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    *out_len = len / 2;
    return true;
}

/* OpenSSL writes a NUL behind the text, and a buf has room for that one always. */
static void to_base64(const unsigned char *bytes, size_t len, struct buf *out)
{
    char *to = buf_space(out, (len + 2) / 3 * 4);

    if (to != NULL)
        buf_grew(out, (size_t)EVP_EncodeBlock((unsigned char *)to, bytes, (int)len));
}

/* OpenSSL also takes blanks and loose bits at the end: so what it read is written again
 * and compared. */
static bool from_base64(const char *text, size_t len, unsigned char *out, size_t room,
                        size_t *out_len)
{
    unsigned char bytes[BASE64_MAX / 4 * 3];
    struct buf again;
    size_t padding;
    bool same;

    if (len == 0 || len % 4 != 0 || len > BASE64_MAX)
        return false;
    padding = (size_t)(text[len - 1] == '=') + (size_t)(text[len - 2] == '=');
    *out_len = len / 4 * 3 - padding;
    if (*out_len > room || EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)len) < 0)
        return false;
    buf_init(&again, BASE64_MAX);
    to_base64(bytes, *out_len, &again);
    same = !buf_failed(&again) && again.len == len && memcmp(again.data, text, len) == 0;
    if (same)
        memcpy(out, bytes, *out_len);
    explicit_bzero(bytes, sizeof(bytes));
    buf_wipe(&again);
    return same;
}

void encode(enum encoding encoding, const void *bytes, size_t len, struct buf *out)
{
    if (encoding == ENCODE_HEX)
        to_hex(bytes, len, out);
    else
        to_base64(bytes, len, out);
}

bool decode(enum encoding encoding, const char *text, size_t len, unsigned char *out, size_t room,
            size_t *out_len)
{
    return encoding == ENCODE_HEX ? from_hex(text, len, out, room, out_len)
                                  : from_base64(text, len, out, room, out_len);
}
