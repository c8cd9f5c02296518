#include "event.h"

#include "field.h"
#include "jsontext.h"

#include <json-c/json_tokener.h>
#include <limits.h>
#include <string.h>

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

/* An id or a type that holds a replacement is not what the provider sent. */
static bool replaced(const struct event *event, const char *name)
{
    return event->fixed.len > 0 && strstr(name, "\xef\xbf\xbd") != NULL;
}

/* The end of the year 9999: what lies beyond is no time in seconds. */
static const int64_t CREATED_MAX = 253402300799;

/* When, in which mode: what an event may leave out. */
static void read_circumstances(struct event *event)
{
    bool livemode;

    event->livemode = field_bool(event->json, "livemode", &livemode) == FIELD_OK ? livemode : -1;
    if (field_int(event->json, "created", &event->created) != FIELD_OK || event->created < 0 ||
        event->created > CREATED_MAX)
        event->created = 0; /* thin events have a text there */
}

static enum status read_envelope(struct event *event)
{
    struct json_object *json = event->json;

    if (field_text(json, "id", EVENT_NAME_MAX, &event->id) != FIELD_OK ||
        replaced(event, event->id))
        return ST_EVENT_ID;
    if (field_text(json, "type", EVENT_NAME_MAX, &event->type) != FIELD_OK ||
        replaced(event, event->type))
        return ST_EVENT_TYPE;
    if (field_text(json, "account", EVENT_NAME_MAX, &event->account) == FIELD_BAD)
        return ST_EVENT_ACCOUNT;
    read_circumstances(event);
    return ST_OK;
}

enum status event_parse(const struct verified *verified, struct event *event)
{
    enum status status;
    char first;

    memset(event, 0, sizeof(*event));
    buf_init(&event->fixed, verified_len(verified));
    event->text = verified_body(verified);
    event->len = verified_len(verified);
    status = jsontext_check(event->text, event->len, &event->fixed);
    if (status != ST_OK)
        return status;
    first = event->len == 0 ? '\0' : event->text[strspn(event->text, " \t\r\n")];
    if (first != '{')
        return first == '\0' ? ST_JSON : ST_JSON_OBJECT;
    if (event->fixed.len > 0) {
        event->raw = event->text;
        event->raw_len = event->len;
        event->text = event->fixed.data;
    }
    status = parse(event);
    return status == ST_OK ? read_envelope(event) : status;
}

enum status event_restore(const char *id, const char *type, const char *payload,
                          struct event *event)
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
    if (status != ST_OK)
        return status;
    read_circumstances(event);
    return field_text(event->json, "account", EVENT_NAME_MAX, &event->account) == FIELD_BAD
               ? ST_EVENT_ACCOUNT
               : ST_OK;
}

void event_release(struct event *event)
{
    json_object_put(event->json);
    buf_release(&event->fixed);
    memset(event, 0, sizeof(*event));
}

struct json_object *event_object(const struct event *event)
{
    return field_get(field_get(event->json, "data"), "object");
}
