/* The keys that describe a signature: of provider hmac all of it, of the others what
 * differs from one endpoint to the next. */
#include "conf_keys.h"

#include <string.h>

static const char no_memory[] = "out of memory";

/* The row that the endpoint's file writes. */
static struct scheme *own(struct conf_target *t, const char *key)
{
    if (t->endpoint->own_line == 0) {
        t->endpoint->own_line = t->line;
        t->endpoint->own_key = key;
    }
    return &t->endpoint->own;
}

static bool is_own(const struct conf_endpoint *e)
{
    return e->policy.scheme == &e->own;
}

static const char *keep(struct conf_target *t, const char **to, const char *value)
{
    *to = conf_keep(t->endpoint, value);
    return *to == NULL ? no_memory : NULL;
}

static void show_text(const struct conf_endpoint *e, const char *text, struct buf *out)
{
    if (is_own(e) && text != NULL)
        buf_text(out, text);
}

/* The name of a header: what HTTP calls a token, as far as headers use it. */
static bool header_name(const char *value)
{
    return strlen(value) < 64 && conf_plain_name(value);
}

static const char *set_url(struct conf_target *t, const char *value)
{
    if (strncmp(value, "https://", 8) != 0 && strncmp(value, "http://", 7) != 0)
        return "must begin with https:// (or http://): the whole URL as the provider calls it";
    return keep(t, &t->endpoint->policy.url, value);
}

static void show_url(const struct conf *conf UNUSED, const struct conf_endpoint *e, struct buf *out)
{
    buf_text(out, e->policy.url == NULL ? "" : e->policy.url);
}

static const char *set_key(struct conf_target *t, const char *value)
{
    t->endpoint->policy.key = strcmp(value, "base64") == 0 ? KEY_BASE64
                              : strcmp(value, "text") == 0 ? KEY_TEXT
                                                           : KEY_OF_SCHEME;
    return t->endpoint->policy.key != KEY_OF_SCHEME
               ? NULL
               : "must be text (the whole secret is the key) or base64 (the bytes behind whsec_)";
}

static void show_key(const struct conf *conf UNUSED, const struct conf_endpoint *e, struct buf *out)
{
    if (e->policy.key != KEY_OF_SCHEME)
        buf_text(out, e->policy.key == KEY_BASE64 ? "base64" : "text");
}

static const char *set_sender(struct conf_target *t, const char *value)
{
    if (!conf_plain_name(value) || scheme_find(value) != NULL)
        return "must be a name of letters, digits, - and _ that no known provider has";
    return keep(t, &own(t, "sender")->provider, value);
}

static void show_sender(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                        struct buf *out)
{
    if (strcmp(e->own.provider, "hmac") != 0)
        show_text(e, e->own.provider, out);
}

static const char *set_header(struct conf_target *t, const char *value)
{
    if (!header_name(value))
        return "must be the name of a header, such as X-Signature";
    return keep(t, &own(t, "header")->header, value);
}

static void show_header(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                        struct buf *out)
{
    show_text(e, e->own.header, out);
}

static const char *set_prefix(struct conf_target *t, const char *value)
{
    return keep(t, &own(t, "prefix")->label, value);
}

static void show_prefix(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                        struct buf *out)
{
    show_text(e, e->own.label, out);
}

static const struct {
    const char *name;
    char separator;
} separators[] = {{"comma", ','}, {"semicolon", ';'}, {"blank", ' '}};

static const char *set_separator(struct conf_target *t, const char *value)
{
    for (size_t i = 0; i < ARRAY_LEN(separators); i++) {
        if (strcmp(value, separators[i].name) == 0) {
            own(t, "separator")->separator = separators[i].separator;
            return NULL;
        }
    }
    return "must be comma, semicolon or blank: what parts several elements of the header";
}

static void show_separator(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                           struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(separators); i++) {
        if (e->own.separator == separators[i].separator)
            show_text(e, separators[i].name, out);
    }
}

static const char *set_hash(struct conf_target *t, const char *value)
{
    const char *name;

    for (int hash = 0; (name = digest_name((enum digest_hash)hash)) != NULL; hash++) {
        if (strcmp(value, name) == 0) {
            own(t, "hash")->hash = (enum digest_hash)hash;
            return NULL;
        }
    }
    return "must be sha256, sha1 or sha512";
}

static void show_hash(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                      struct buf *out)
{
    show_text(e, digest_name(e->own.hash), out);
}

static const char *set_encoding(struct conf_target *t, const char *value)
{
    bool hex = strcmp(value, "hex") == 0;

    if (!hex && strcmp(value, "base64") != 0)
        return "must be hex or base64";
    own(t, "encoding")->encoding = hex ? ENCODE_HEX : ENCODE_BASE64;
    return NULL;
}

static void show_encoding(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                          struct buf *out)
{
    show_text(e, encode_name(e->own.encoding), out);
}

static const char *set_signed(struct conf_target *t, const char *value)
{
    if (!scheme_content_known(value))
        return "must be what is signed: {body}, or a text with {body}, {time}, {id} and {url}, such "
               "as {time}.{body}";
    return keep(t, &own(t, "signed")->content, value);
}

static void show_signed(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                        struct buf *out)
{
    show_text(e, e->own.content, out);
}

/* "X-Timestamp": a header; "t=": an element of the signature's header. */
static const char *set_timestamp(struct conf_target *t, const char *value)
{
    struct scheme *scheme = own(t, "timestamp");
    size_t len = strlen(value);

    if (len > 1 && value[len - 1] == '=') {
        if (scheme->separator == '\0')
            scheme->separator = ',';
        return keep(t, &scheme->time_label, value);
    }
    if (!header_name(value))
        return "must be the name of a header, such as X-Timestamp, or the label of an element of "
               "the signature's header, such as t=";
    return keep(t, &scheme->time_header, value);
}

static void show_timestamp(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                           struct buf *out)
{
    show_text(e, e->own.time_label != NULL ? e->own.time_label : e->own.time_header, out);
}

static bool is_place(const char *value)
{
    if (strncmp(value, "header:", 7) == 0)
        return header_name(value + 7);
    if (strncmp(value, "body:", 5) == 0)
        return value[5] != '\0';
    return strcmp(value, "digest") == 0 || (strncmp(value, "is:", 3) == 0 && value[3] != '\0');
}

/* Adds a place behind those that are there. */
static const char *add_place(struct conf_target *t, struct scheme_place *places, const char *value)
{
    int n = 0;

    while (n < SCHEME_PLACES && places[n].where != NULL)
        n++;
    if (!is_place(value))
        return "must be header:NAME, body:PATH (such as body:event.id), digest (of the body) or "
               "is:TEXT";
    if (n == SCHEME_PLACES)
        return "is one too many: five places are the most";
    return keep(t, &places[n].where, value);
}

static void show_places(const struct conf_endpoint *e, const char *key,
                        const struct scheme_place *places, struct buf *out)
{
    for (int i = 0; is_own(e) && i < SCHEME_PLACES && places[i].where != NULL; i++)
        buf_format(out, "%s%s%s%s", i == 0 ? "" : "\n", i == 0 ? "" : key, i == 0 ? "" : " = ",
                   places[i].where);
}

static const char *set_id(struct conf_target *t, const char *value)
{
    return add_place(t, own(t, "id")->id, value);
}

static void show_id(const struct conf *conf UNUSED, const struct conf_endpoint *e, struct buf *out)
{
    show_places(e, "id", e->own.id, out);
}

static const char *set_type(struct conf_target *t, const char *value)
{
    return add_place(t, own(t, "type")->type, value);
}

static void show_type(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                      struct buf *out)
{
    show_places(e, "type", e->own.type, out);
}

const struct conf_key conf_hmac_keys[] = {
    {CONF_ENDPOINT, "key", false, set_key, show_key, "how a secret makes the key: text or base64"},
    {CONF_ENDPOINT, "url", false, set_url, show_url, "as the provider calls it (square, twilio)"},
    {CONF_ENDPOINT, "sender", false, set_sender, show_sender, "hmac: what receipts call it"},
    {CONF_ENDPOINT, "header", false, set_header, show_header, "hmac: holds the signature"},
    {CONF_ENDPOINT, "separator", false, set_separator, show_separator,
     "hmac: comma, semicolon or blank between the header's elements"},
    {CONF_ENDPOINT, "prefix", false, set_prefix, show_prefix, "hmac: before the signature"},
    {CONF_ENDPOINT, "hash", false, set_hash, show_hash, "hmac: sha256, sha1 or sha512 (sha256)"},
    {CONF_ENDPOINT, "encoding", false, set_encoding, show_encoding, "hmac: hex or base64 (hex)"},
    {CONF_ENDPOINT, "signed", false, set_signed, show_signed, "hmac: what is signed ({body})"},
    {CONF_ENDPOINT, "timestamp", false, set_timestamp, show_timestamp, "hmac: its header or label"},
    {CONF_ENDPOINT, "id", true, set_id, show_id, "hmac: where an event's id is"},
    {CONF_ENDPOINT, "type", true, set_type, show_type, "hmac: where an event's type is"},
};
const size_t conf_hmac_count = ARRAY_LEN(conf_hmac_keys);
