#include "jsontext.h"

#include <stdbool.h>
#include <string.h>

/* numeric holds 131,072 digits before the point and 16,383 after it (PostgreSQL
 * documentation, table 8.2); a margin is left for zeros that count there and not here. */
enum { NUMERIC_WHOLE_MAX = 131000, NUMERIC_FRACTION_MAX = 16383, EXPONENT_MAX = 1000000 };

/* jsonb writes a number with an exponent out in full: many of them would make a text that
 * is too long for any statement. So such a number may come to as many digits. */
enum { EXPANDED_MAX = 400 };

struct scan {
    const char *text;
    size_t len;
    size_t at;
    struct buf *fixed;
};

/* The byte at the given distance, or a NUL at the end: a NUL in the text is no token either. */
static unsigned char peek(const struct scan *s, size_t ahead)
{
    return s->at + ahead < s->len ? (unsigned char)s->text[s->at + ahead] : 0;
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

/* Puts the replacement over len bytes at the given place, padded with blanks. */
static void replace(struct scan *s, size_t where, size_t len, const char *with)
{
    if (s->fixed->len == 0)
        buf_add(s->fixed, s->text, s->len);
    if (buf_failed(s->fixed))
        return;
    memset(s->fixed->data + where, ' ', len);
    memcpy(s->fixed->data + where, with, strlen(with));
}

/* Whether a byte stands at that place, within bounds. */
static bool within(const char *text, size_t len, size_t at, unsigned low, unsigned high)
{
    return at < len && (unsigned char)text[at] >= low && (unsigned char)text[at] <= high;
}

size_t jsontext_utf8(const char *text, size_t len)
{
    unsigned char c = len == 0 ? 0x80 : (unsigned char)text[0];
    unsigned low = 0x80, high = 0xbf;
    size_t want;

    if (c < 0x80)
        return 1;
    if (c < 0xc2 || c > 0xf4)
        return 0;
    want = c <= 0xdf ? 2 : c <= 0xef ? 3 : 4;
    if (c == 0xe0)
        low = 0xa0; /* no overlong form */
    else if (c == 0xed)
        high = 0x9f; /* no surrogate */
    else if (c == 0xf0)
        low = 0x90;
    else if (c == 0xf4)
        high = 0x8f; /* nothing above U+10FFFF */
    if (!within(text, len, 1, low, high))
        return 0;
    for (size_t i = 2; i < want; i++) {
        if (!within(text, len, i, 0x80, 0xbf))
            return 0;
    }
    return want;
}

/* The value of the \uXXXX at the given distance, -1 when there is none. */
static long unicode_escape(const struct scan *s, size_t ahead)
{
    long value = 0;

    if (peek(s, ahead) != '\\' || peek(s, ahead + 1) != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        unsigned char c = peek(s, ahead + i);

        if (is_digit(c))
            value = value * 16 + c - '0';
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            value = value * 16 + (c | 0x20) - 'a' + 10;
        else
            return -1;
    }
    return value;
}

/* The length of the escape at the scan, 0 when it is malformed. */
static size_t escape(struct scan *s)
{
    long value, next;

    if (peek(s, 1) != 'u')
        return peek(s, 1) != 0 && strchr("\"\\/bfnrt", peek(s, 1)) != NULL ? 2 : 0;
    value = unicode_escape(s, 0);
    if (value < 0)
        return 0;
    if (value >= 0xd800 && value <= 0xdbff) {
        next = unicode_escape(s, 6);
        if (next >= 0xdc00 && next <= 0xdfff)
            return 12;
    }
    if (value == 0 || (value >= 0xd800 && value <= 0xdfff))
        replace(s, s->at, 6, "\\ufffd");
    return 6;
}

static bool string(struct scan *s)
{
    size_t step;

    s->at++;
    while (peek(s, 0) != '"') {
        if (peek(s, 0) < 0x20)
            return false; /* a raw control character, or the end */
        step = peek(s, 0) == '\\' ? escape(s) : jsontext_utf8(s->text + s->at, s->len - s->at);
        if (step == 0)
            return false;
        s->at += step;
    }
    s->at++;
    return true;
}

static size_t digits(struct scan *s)
{
    size_t from = s->at;

    while (is_digit(peek(s, 0)))
        s->at++;
    return s->at - from;
}

/* The exponent at the scan, 0 when there is none, cut to EXPONENT_MAX either way. */
static bool exponent(struct scan *s, long *value)
{
    bool minus;

    *value = 0;
    if ((peek(s, 0) | 0x20) != 'e')
        return true;
    s->at++;
    minus = peek(s, 0) == '-';
    if (minus || peek(s, 0) == '+')
        s->at++;
    if (!is_digit(peek(s, 0)))
        return false;
    for (; is_digit(peek(s, 0)); s->at++) {
        if (*value < EXPONENT_MAX)
            *value = *value * 10 + peek(s, 0) - '0';
    }
    if (minus)
        *value = -*value;
    return true;
}

static bool number(struct scan *s)
{
    size_t from = s->at, whole, fraction = 0;
    long exp;

    if (peek(s, 0) == '-')
        s->at++;
    whole = digits(s);
    if (whole == 0 || (whole > 1 && s->text[s->at - whole] == '0'))
        return false;
    if (peek(s, 0) == '.') {
        s->at++;
        fraction = digits(s);
        if (fraction == 0)
            return false;
    }
    if (!exponent(s, &exp))
        return false;
    if (exp > 0)
        whole += (size_t)exp;
    else
        fraction += (size_t)-exp;
    if (whole > (exp == 0 ? NUMERIC_WHOLE_MAX : EXPANDED_MAX) ||
        fraction > (exp == 0 ? NUMERIC_FRACTION_MAX : EXPANDED_MAX))
        replace(s, from, s->at - from, "null");
    return true;
}

static bool literal(struct scan *s)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t len = strlen(words[i]);

        if (s->len - s->at >= len && memcmp(s->text + s->at, words[i], len) == 0) {
            s->at += len;
            return true;
        }
    }
    return false;
}

/* After a value must come something that ends it: "01" is not 0 and 1. */
static bool ended(const struct scan *s)
{
    return s->at == s->len || (peek(s, 0) != 0 && strchr(" \t\r\n,:]}", peek(s, 0)) != NULL);
}

enum status jsontext_check(const char *text, size_t len, struct buf *fixed)
{
    struct scan s = {text, len, 0, fixed};
    unsigned char before = 0; /* the last byte that was no white space */
    bool good;

    while (s.at < s.len) {
        unsigned char c = peek(&s, 0);

        if (before == ',' && (c == ']' || c == '}'))
            return ST_JSON;
        if (c > ' ')
            before = c;
        if (c != 0 && strchr(" \t\r\n{}[],:", c) != NULL) {
            s.at++;
            continue;
        }
        if (c == '"')
            good = string(&s);
        else if (c == '-' || is_digit(c))
            good = number(&s);
        else
            good = literal(&s);
        if (!good || !ended(&s))
            return ST_JSON;
    }
    return buf_failed(fixed) ? ST_NOMEM : ST_OK;
}
