#include "field.h"

#include "jsontext.h"

#include <string.h>

struct json_object *field_get(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;

    if (!json_object_is_type(object, json_type_object))
        return NULL;
    return json_object_object_get_ex(object, name, &value) ? value : NULL;
}

struct json_object *field_walk(struct json_object *object, const char *path)
{
    char name[64];
    size_t len;

    for (; object != NULL; path += len + 1) {
        len = strcspn(path, ".");
        if (len >= sizeof(name))
            return NULL;
        memcpy(name, path, len);
        name[len] = '\0';
        object = field_get(object, name);
        if (path[len] == '\0')
            break;
    }
    return object;
}

/* C0, DEL and, as UTF-8, C1. */
static bool is_control(const unsigned char *c, size_t step)
{
    return c[0] < 0x20 || c[0] == 0x7f || (step == 2 && c[0] == 0xc2 && c[1] < 0xa0);
}

bool field_plain(const char *text, size_t len, size_t max)
{
    size_t step;

    if (len == 0 || len > max)
        return false;
    for (size_t i = 0; i < len; i += step) {
        step = jsontext_utf8(text + i, len - i);
        if (step == 0 || is_control((const unsigned char *)text + i, step))
            return false;
    }
    return true;
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
    if (!field_plain(json_object_get_string(value), len, max))
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
