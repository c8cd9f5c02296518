#include "scheme.h"

#include "digest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURES_MAX = 16, HEADER_MAX = 4096 };

struct verified {
    const char *body;
    size_t len;
};

/* What a header says: when it was signed, and the signatures that could be decoded. */
struct claim {
    const char *t; /* the digits as they were signed */
    size_t t_len;
    int64_t time;
    int count;
    unsigned char mac[SIGNATURES_MAX][DIGEST_SHA256_LEN];
};

struct scheme {
    const char *provider;
    const char *param;  /* the header as a CGI variable */
    const char *header; /* the header as a sender writes it */
    const char *label;  /* the element that holds a signature */
    int tolerance;      /* seconds */
};

/* Stripe: "Stripe-Signature: t=…,v1=…[,v1=…]", HMAC-SHA256 over "t.body", hex, the key is
 * the whole text of the secret. Read in Stripe's documentation ("Verify webhook
 * signatures manually") and judged against its SDK (tests/vectors/stripe.json). */
static const struct scheme table[] = {
    {"stripe", "HTTP_STRIPE_SIGNATURE", "Stripe-Signature", "v1", 300},
};

const struct scheme *scheme_find(const char *provider)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (strcmp(table[i].provider, provider) == 0)
            return &table[i];
    }
    return NULL;
}

const char *scheme_provider(const struct scheme *scheme)
{
    return scheme->provider;
}

int scheme_tolerance(const struct scheme *scheme)
{
    return scheme->tolerance;
}

const char *scheme_name(size_t n)
{
    return n < ARRAY_LEN(table) ? table[n].provider : NULL;
}

const char *scheme_key(const struct scheme *scheme UNUSED, const char *secret, struct buf *key)
{
    size_t len = strlen(secret);

    buf_init(key, 4096);
    while (len > 0 && strchr(" \t\r\n", secret[len - 1]) != NULL)
        len--;
    if (len == 0)
        return "is empty";
    if (secret[0] == '"' || secret[0] == '\'' || secret[len - 1] == '"' || secret[len - 1] == '\'')
        return "stands in quotes: take them away";
    if (strncmp(secret, "v1,", 3) == 0 || strncmp(secret, "v0,", 3) == 0)
        return "begins with a signature's prefix (v1,): take that away";
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)secret[i];

        if (c <= ' ' || c == 0x7f)
            return "has a blank or a line end inside: give one secret a line";
        if (c > 0x7f)
            return "has a character that no secret has: is there a byte order mark?";
    }
    buf_add(key, secret, len);
    return buf_failed(key) ? "is longer than 4096 bytes" : NULL;
}

/* Plain digits alone: no sign, no blank, no fraction. */
static bool plain_time(const char *text, size_t len, int64_t *out)
{
    *out = 0;
    if (len == 0 || len > 15)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *out = *out * 10 + (text[i] - '0');
    }
    return true;
}

/* One element "name=value". Unknown names are skipped, so are signatures that are no
 * digest: others beside them may be good. */
static enum status take_element(const struct scheme *scheme, const char *text, size_t len,
                                struct claim *claim)
{
    const char *equals = memchr(text, '=', len);
    size_t name_len, value_len;

    if (equals == NULL)
        return ST_OK;
    name_len = (size_t)(equals - text);
    value_len = len - name_len - 1;
    if (name_len == 1 && text[0] == 't') {
        if (claim->t != NULL)
            return ST_SIG_T_TWICE;
        claim->t = equals + 1;
        claim->t_len = value_len;
        return plain_time(claim->t, value_len, &claim->time) ? ST_OK : ST_SIG_MALFORMED;
    }
    if (name_len != strlen(scheme->label) || memcmp(text, scheme->label, name_len) != 0)
        return ST_OK;
    if (claim->count == SIGNATURES_MAX)
        return ST_SIG_MALFORMED;
    if (digest_from_hex(equals + 1, value_len, claim->mac[claim->count], DIGEST_SHA256_LEN))
        claim->count++;
    return ST_OK;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Elements are parted by commas; blanks round one are not part of it (a proxy that
 * merges two headers adds them). */
static enum status read_claim(const struct scheme *scheme, const char *header, struct claim *claim)
{
    enum status status;

    if (strlen(header) > HEADER_MAX)
        return ST_SIG_MALFORMED;
    for (;;) {
        size_t whole = strcspn(header, ","), len = whole;
        const char *text = header;

        for (; len > 0 && blank(text[0]); len--)
            text++;
        while (len > 0 && blank(text[len - 1]))
            len--;
        status = take_element(scheme, text, len, claim);
        if (status != ST_OK)
            return status;
        if (header[whole] == '\0')
            break;
        header += whole + 1;
    }
    return claim->t != NULL && claim->count > 0 ? ST_OK : ST_SIG_MALFORMED;
}

/* Every secret against every signature, each comparison in constant time. */
static enum status match(const struct secrets *secrets, const struct claim *claim,
                         const struct buf *body, int *position)
{
    const struct digest_part parts[] = {
        {claim->t, claim->t_len}, {".", 1}, {body->data, body->len}};
    unsigned char want[DIGEST_SHA256_LEN];
    enum status status = ST_SIG_FORGED;

    for (int s = 0; s < secrets->count && status == ST_SIG_FORGED; s++) {
        if (digest_hmac_sha256(secrets->of[s].key, secrets->of[s].len, parts, ARRAY_LEN(parts),
                               want) != ST_OK) {
            status = ST_INTERNAL;
            break;
        }
        for (int i = 0; i < claim->count; i++) {
            if (digest_equal(want, claim->mac[i], sizeof(want))) {
                *position = s + 1;
                status = ST_OK;
            }
        }
    }
    explicit_bzero(want, sizeof(want));
    return status;
}

enum status scheme_verify(const struct scheme *scheme, const struct secrets *secrets,
                          const struct http_request *request, const struct buf *body, int64_t now,
                          int tolerance, struct scheme_facts *facts, struct verified **out)
{
    const char *header = http_param(request, scheme->param);
    struct claim claim = {.count = 0};
    enum status status;

    *out = NULL;
    *facts = (struct scheme_facts){0, 0};
    if (header == NULL)
        return ST_SIG_MISSING;
    status = read_claim(scheme, header, &claim);
    if (status == ST_OK)
        status = match(secrets, &claim, body, &facts->secret);
    if (status != ST_OK)
        return status;
    facts->age = now - claim.time;
    if (facts->age > tolerance)
        return ST_SIG_STALE; /* a future time is a slow clock of ours: signed all the same */
    *out = malloc(sizeof(**out));
    if (*out == NULL)
        return ST_NOMEM;
    **out = (struct verified){body->data, body->len};
    return ST_OK;
}

enum status scheme_sign(const struct scheme *scheme, const unsigned char *key, size_t key_len,
                        const void *body, size_t len, int64_t t, struct buf *out)
{
    unsigned char mac[DIGEST_SHA256_LEN];
    char hex[2 * DIGEST_SHA256_LEN + 1];
    struct digest_part parts[3];
    struct buf stamp;
    enum status status;

    buf_init(&stamp, 32);
    buf_format(&stamp, "%" PRId64, t);
    if (buf_failed(&stamp))
        return ST_NOMEM;
    parts[0] = (struct digest_part){stamp.data, stamp.len};
    parts[1] = (struct digest_part){".", 1};
    parts[2] = (struct digest_part){body, len};
    status = digest_hmac_sha256(key, key_len, parts, ARRAY_LEN(parts), mac);
    if (status == ST_OK) {
        digest_to_hex(mac, sizeof(mac), hex);
        buf_format(out, "%s: t=%s,%s=%s", scheme->header, stamp.data, scheme->label, hex);
        status = buf_failed(out) ? ST_NOMEM : ST_OK;
    }
    buf_release(&stamp);
    return status;
}

const char *verified_body(const struct verified *v)
{
    return v->body;
}

size_t verified_len(const struct verified *v)
{
    return v->len;
}

void verified_free(struct verified *v)
{
    free(v);
}
