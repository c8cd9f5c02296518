#include "scheme_sign.h"

#include "scheme_content.h"

#include <inttypes.h>
#include <string.h>

enum { ID_DIGITS = 32 };

/* An id that is the same for the same body. */
static enum status make_id(const struct scheme_signing *s, struct buf *id)
{
    unsigned char digest[DIGEST_MAX];
    enum status status = digest_plain(DIGEST_SHA256, s->body, s->len, digest);

    if (status != ST_OK || s->id != NULL) {
        buf_text(id, s->id == NULL ? "" : s->id);
        return status;
    }
    buf_text(id, "try_");
    encode(ENCODE_HEX, digest, ID_DIGITS / 2, id);
    return buf_failed(id) ? ST_NOMEM : ST_OK;
}

/* "?bodySHA256=…" where the body is signed by its digest alone. */
static enum status add_body_param(const struct scheme_signing *s, struct buf *url)
{
    const struct scheme *scheme = s->policy->scheme;
    unsigned char digest[DIGEST_MAX];

    if (scheme->body_param == NULL || s->form)
        return ST_OK;
    if (digest_plain(DIGEST_SHA256, s->body, s->len, digest) != ST_OK)
        return ST_INTERNAL;
    buf_format(url, "%c%s=", url->data != NULL && strchr(url->data, '?') != NULL ? '&' : '?',
               scheme->body_param);
    encode(ENCODE_HEX, digest, digest_len(DIGEST_SHA256), url);
    return buf_failed(url) ? ST_NOMEM : ST_OK;
}

/* The header's value: label and signature, and the time before it. */
static enum status sign_content(const struct scheme_signing *s, struct scheme_content *content,
                                struct buf *lines)
{
    const struct scheme *scheme = s->policy->scheme;
    const struct secrets *secrets = &s->policy->secrets;
    enum scheme_key form = s->policy->key != KEY_OF_SCHEME ? s->policy->key : scheme->key;
    struct digest_part parts[CONTENT_PARTS];
    unsigned char room[SCHEME_SECRET_MAX], mac[DIGEST_MAX];
    const unsigned char *key;
    enum status status = ST_INTERNAL;
    size_t len;

    key = scheme_key_of(form, secrets->of[0].text, secrets->of[0].len, room, &len);
    if (key != NULL)
        status = digest_hmac(scheme->hash, key, len, parts,
                             content_parts(scheme, content, 0, parts), mac);
    explicit_bzero(room, sizeof(room));
    if (status != ST_OK)
        return status;
    if (scheme->time_label != NULL)
        buf_format(lines, "%s%.*s%c", scheme->time_label, (int)content->time_len, content->time,
                   scheme->separator);
    buf_text(lines, scheme->label);
    encode(scheme->encoding, mac, digest_len(scheme->hash), lines);
    return ST_OK;
}

/* The first header among the places, when it is not said already. */
static void add_place(const struct scheme *scheme, const struct scheme_place *places,
                      const char *value, struct buf *lines)
{
    const char *name = NULL;

    for (size_t i = 0; i < SCHEME_PLACES && name == NULL && places[i].where != NULL; i++) {
        if (strncmp(places[i].where, "header:", 7) == 0)
            name = places[i].where + 7;
    }
    if (name != NULL && value != NULL &&
        (scheme->id_header == NULL || strcmp(name, scheme->id_header) != 0))
        buf_format(lines, "%s: %s\n", name, value);
}

static enum status add_headers(const struct scheme_signing *s, struct scheme_content *content,
                               struct buf *lines)
{
    const struct scheme *scheme = s->policy->scheme;
    enum status status = ST_OK;

    buf_format(lines, "%s: ", scheme->header);
    if (scheme->content == NULL)
        buf_add(lines, s->policy->secrets.of[0].text,
                s->policy->secrets.of[0].len - (s->forged ? 1 : 0));
    else
        status = sign_content(s, content, lines);
    buf_text(lines, "\n");
    if (scheme->time_header != NULL)
        buf_format(lines, "%s: %s\n", scheme->time_header, content->time);
    if (scheme->id_header != NULL)
        buf_format(lines, "%s: %s\n", scheme->id_header, content->id);
    add_place(scheme, scheme->id, content->id, lines);
    add_place(scheme, scheme->type, s->type, lines);
    return status == ST_OK && buf_failed(lines) ? ST_NOMEM : status;
}

enum status scheme_sign(const struct scheme_signing *s, struct buf *url, struct buf *lines)
{
    struct scheme_content content;
    struct buf id, stamp;
    enum status status;
    const char *query;

    content_init(&content, s->body, s->len - (s->forged && s->len > 0 ? 1 : 0));
    buf_init(&id, 1024);
    buf_init(&stamp, 32);
    buf_format(&stamp, "%" PRId64, s->time);
    status = make_id(s, &id);
    if (status == ST_OK)
        status = add_body_param(s, url);
    query = url->data == NULL ? NULL : strchr(url->data, '?');
    if (status == ST_OK)
        status = content_url(&content, s->policy, query == NULL ? NULL : query + 1);
    if (status == ST_OK && s->form)
        status = content_form(&content);
    if (status == ST_OK && (buf_failed(&stamp) || buf_failed(&id)))
        status = ST_NOMEM;
    content.time = stamp.data;
    content.time_len = stamp.len;
    content.id = id.data;
    if (status == ST_OK)
        status = add_headers(s, &content, lines);
    content_release(&content);
    buf_release(&stamp);
    buf_release(&id);
    return status;
}
