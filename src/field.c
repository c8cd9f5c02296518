#include "field.h"

struct json_object *field_get(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;

    if (!json_object_is_type(object, json_type_object))
        return NULL;
    return json_object_object_get_ex(object, name, &value) ? value : NULL;
}

/* C0, DEL and, as UTF-8, C1. */
static bool has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c < 0x20 || c == 0x7f)
            return true;
        if (c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0)
            return true;
    }
    return false;
}

enum field field_text(struct json_object *object, const char *name, size_t max, const char **out)
{
    struct json_object *value = field_get(object, name);
    size_t len;

    *out = NULL;
    if (value == NULL)
        return FIELD_NONE;
    if (!json_object_is_type(value, json_type_string))
        return FIELD_BAD;
    len = (size_t)json_object_get_string_len(value);
    if (len == 0 || len > max || has_control(json_object_get_string(value), len))
        return FIELD_BAD;
    *out = json_object_get_string(value);
    return FIELD_OK;
}

enum field field_int(struct json_object *object, const char *name, int64_t *out)
{
    struct json_object *value = field_get(object, name);

    *out = 0;
    if (value == NULL)
        return FIELD_NONE;
    if (!json_object_is_type(value, json_type_int))
        return FIELD_BAD;
    *out = json_object_get_int64(value);
    /* Out of range, the two readings are clamped to different bounds. */
    if (*out >= 0 ? json_object_get_uint64(value) != (uint64_t)*out : *out == INT64_MIN)
        return FIELD_BAD;
    return FIELD_OK;
}

enum field field_bool(struct json_object *object, const char *name, bool *out)
{
    struct json_object *value = field_get(object, name);

    *out = false;
    if (value == NULL)
        return FIELD_NONE;
    if (!json_object_is_type(value, json_type_boolean))
        return FIELD_BAD;
    *out = json_object_get_boolean(value) != 0;
    return FIELD_OK;
}
