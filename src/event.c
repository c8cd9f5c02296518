#include "event.h"

#include "field.h"
#include "form.h"
#include "jsontext.h"

#include <json-c/json_tokener.h>
#include <limits.h>
#include <string.h>

/* A form's text grows when it is written as JSON: most by \u0000 for one byte. */
enum { FORM_GROWTH = 6, EVENT_DIGEST = 16 };

/* Not json-c's strict mode: since 0.17 that refuses integers beyond 64 bits, which jsonb
 * holds. What it would refuse besides is refused by jsontext_check. */
static enum status parse(struct event *event)
{
    struct json_tokener *tokener = json_tokener_new_ex(EVENT_DEPTH_MAX);
    enum status status = ST_NOMEM;
    size_t end;

    if (tokener == NULL || event->len > INT_MAX)
        goto out;
    event->json = json_tokener_parse_ex(tokener, event->text, (int)event->len);
    switch (json_tokener_get_error(tokener)) {
    case json_tokener_success:
        end = json_tokener_get_parse_end(tokener);
        status = event->text[end + strspn(event->text + end, " \t\r\n")] == '\0' ? ST_OK : ST_JSON;
        break;
    case json_tokener_error_depth:
        status = ST_JSON_DEPTH;
        break;
    default: /* "continue" too: the text ended before its value did */
        status = ST_JSON;
    }
out:
    if (tokener != NULL)
        json_tokener_free(tokener);
    return status;
}

/* The end of the year 9999: what lies beyond is no time in seconds. */
static const int64_t CREATED_MAX = 253402300799;

/* For whom, when, in which mode: what an event may leave out. */
static enum status read_circumstances(const struct scheme *scheme, struct event *event)
{
    bool livemode;

    event->livemode = -1;
    if (scheme == NULL || !scheme->circumstances)
        return ST_OK;
    if (field_bool(event->json, "livemode", &livemode) == FIELD_OK)
        event->livemode = livemode;
    if (field_int(event->json, "created", &event->created) != FIELD_OK || event->created < 0 ||
        event->created > CREATED_MAX)
        event->created = 0; /* thin events have a text there */
    return field_text(event->json, "account", EVENT_NAME_MAX, &event->account) == FIELD_BAD
               ? ST_EVENT_ACCOUNT
               : ST_OK;
}

static bool add_digest(const struct verified *v, size_t bytes, struct buf *out)
{
    unsigned char digest[DIGEST_MAX];

    if (digest_plain(DIGEST_SHA256, verified_body(v), verified_len(v), digest) != ST_OK)
        return false;
    encode(ENCODE_HEX, digest, bytes, out);
    return !buf_failed(out);
}

/* A member of the body: a text, or, where the scheme has such, a whole number. */
static enum field add_member(const struct scheme *scheme, struct json_object *json,
                             const char *path, struct buf *out)
{
    struct json_object *member = field_walk(json, path);
    bool text = json_object_is_type(member, json_type_string);

    if (member == NULL)
        return FIELD_NONE;
    if (!text && !(scheme->numbers && json_object_is_type(member, json_type_int)))
        return FIELD_BAD;
    buf_add(out, json_object_get_string(member),
            text ? (size_t)json_object_get_string_len(member)
                 : strlen(json_object_get_string(member)));
    return FIELD_OK;
}

/* Appends what stands at one place. */
static enum field add_place(const struct verified *v, const struct event *event, const char *where,
                            struct buf *out)
{
    const char *text;

    if (strncmp(where, "body:", 5) == 0)
        return add_member(verified_scheme(v), event->json, where + 5, out);
    if (strcmp(where, "digest") == 0)
        return add_digest(v, digest_len(DIGEST_SHA256), out) ? FIELD_OK : FIELD_BAD;
    text =
        strncmp(where, "header:", 7) == 0 ? verified_header(v, where + 7) : where + strlen("is:");
    if (text == NULL)
        return FIELD_NONE;
    buf_text(out, text);
    return FIELD_OK;
}

/* The first of the places that is there. False when there is none, or it is no name. */
static bool read_name(const struct verified *v, const struct event *event,
                      const struct scheme_place *places, struct buf *out)
{
    enum field field = FIELD_NONE;

    for (size_t i = 0; i < SCHEME_PLACES && field == FIELD_NONE && places[i].where != NULL; i++) {
        buf_release(out);
        buf_text(out, places[i].prefix == NULL ? "" : places[i].prefix);
        field = add_place(v, event, places[i].where, out);
    }
    if (field != FIELD_OK || buf_failed(out) || out->data == NULL)
        return false;
    /* a name that holds a replacement is not what the provider sent */
    return field_plain(out->data, out->len, EVENT_NAME_MAX) &&
           (event->fixed.len == 0 || strstr(out->data, "\xef\xbf\xbd") == NULL);
}

static enum status read_envelope(const struct verified *v, struct event *event)
{
    const struct scheme *scheme = verified_scheme(v);
    struct buf *id = &event->id_text, *type = &event->type_text;

    if (!read_name(v, event, scheme->id, id))
        return ST_EVENT_ID;
    event->id = id->data;
    if (!read_name(v, event, scheme->type, type))
        return ST_EVENT_TYPE;
    event->type = type->data;
    if (scheme->id_and_type)
        buf_format(id, ":%s", event->type);
    if (scheme->id_and_body) {
        buf_text(id, ":");
        if (!add_digest(v, EVENT_DIGEST, id))
            return ST_NOMEM;
    }
    event->id = id->data;
    if (buf_failed(id) || id->len > EVENT_NAME_MAX)
        return ST_EVENT_ID;
    return read_circumstances(scheme, event);
}

/* The JSON that a form carries, or stands for. */
static enum status unwrap(const struct verified *v, struct event *event)
{
    enum scheme_form kind = verified_scheme(v)->form;
    const struct form_text *payload;
    struct form form;
    enum status status = form_parse(event->text, event->len, &form);

    if (status != ST_OK)
        goto out;
    payload = kind == FORM_FIELDS ? NULL : form_get(&form, "payload");
    if (payload != NULL)
        buf_add(&event->unwrapped, payload->at, payload->len);
    else if (kind == FORM_PAYLOAD)
        status = ST_FORM;
    else
        form_json(&form, &event->unwrapped);
    if (status == ST_OK && (buf_failed(&event->unwrapped) || event->unwrapped.data == NULL))
        status = ST_NOMEM;
    event->raw = event->text;
    event->raw_len = event->len;
    event->text = event->unwrapped.data;
    event->len = event->unwrapped.len;
out:
    form_release(&form);
    return status;
}

static void prepare(const struct verified *v, struct event *event)
{
    memset(event, 0, sizeof(*event));
    event->text = verified_body(v);
    event->len = verified_len(v);
    buf_init(&event->unwrapped, event->len * FORM_GROWTH + 64);
    buf_init(&event->fixed, event->unwrapped.cap);
    buf_init(&event->id_text, 4 * EVENT_NAME_MAX);
    buf_init(&event->type_text, 4 * EVENT_NAME_MAX);
}

enum status event_parse(const struct verified *verified, struct event *event)
{
    enum status status = ST_OK;
    char first;

    prepare(verified, event);
    if (verified_form(verified))
        status = unwrap(verified, event);
    if (status == ST_OK)
        status = jsontext_check(event->text, event->len, &event->fixed);
    if (status != ST_OK)
        return status;
    first = event->len == 0 ? '\0' : event->text[strspn(event->text, " \t\r\n")];
    if (first != '{')
        return first == '\0' ? ST_JSON : ST_JSON_OBJECT;
    if (event->fixed.len > 0) {
        event->raw = verified_body(verified);
        event->raw_len = verified_len(verified);
        event->text = event->fixed.data;
    }
    status = parse(event);
    return status == ST_OK ? read_envelope(verified, event) : status;
}

enum status event_restore(const struct scheme *scheme, const char *id, const char *type,
                          const char *payload, struct event *event)
{
    enum status status;

    memset(event, 0, sizeof(*event));
    event->id = id;
    event->type = type;
    event->text = payload;
    event->len = strlen(payload);
    status = parse(event);
    if (status == ST_OK && !json_object_is_type(event->json, json_type_object))
        status = ST_JSON;
    return status == ST_OK ? read_circumstances(scheme, event) : status;
}

void event_release(struct event *event)
{
    json_object_put(event->json);
    buf_release(&event->unwrapped);
    buf_release(&event->fixed);
    buf_release(&event->id_text);
    buf_release(&event->type_text);
    memset(event, 0, sizeof(*event));
}

struct json_object *event_object(const struct event *event)
{
    return field_get(field_get(event->json, "data"), "object");
}

bool event_asks(const struct event *event, const struct scheme *scheme)
{
    return scheme->question != NULL && strcmp(event->type, scheme->question) == 0 &&
           field_get(event->json, scheme->answer) != NULL;
}

void event_answer(const struct event *event, const struct scheme *scheme, struct buf *out)
{
    struct json_object *member = field_get(event->json, scheme->answer);

    buf_format(out, "{\"%s\":%s}\n", scheme->answer,
               json_object_to_json_string_ext(member, JSON_C_TO_STRING_PLAIN));
}
