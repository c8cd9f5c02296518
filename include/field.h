/* field.h: reading a JSON object's fields exactly.
 * json-c clamps integers, takes "2000", true and 20.5 for numbers and says nothing;
 * here a field is what it should be or it is not. Owns nothing: texts live as long as
 * the object they were read from. */
#ifndef HOOKONCE_FIELD_H
#define HOOKONCE_FIELD_H

#include "compiler.h"
#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>

enum field {
    FIELD_OK,
    FIELD_NONE, /* absent or null */
    FIELD_BAD   /* of another type, or out of range */
};

/* What a path such as "event.type" leads to, NULL when that is nothing. */
struct json_object *field_walk(struct json_object *object, const char *path);
/* The object's member, NULL when it is absent, null, or object is none. */
struct json_object *field_get(struct json_object *object, const char *name);
/* Whether a text can be a name: 1 to max bytes of UTF-8 without control characters. */
bool field_plain(const char *text, size_t len, size_t max) MUST_CHECK;
/* A non-empty string of at most max bytes without control characters. */
enum field field_text(struct json_object *object, const char *name, size_t max,
                      const char **out) MUST_CHECK;
/* An integer within int64, its least value aside (json-c clamps to that one). 20.0, "20",
 * true and 2^63 are FIELD_BAD. */
enum field field_int(struct json_object *object, const char *name, int64_t *out) MUST_CHECK;
enum field field_bool(struct json_object *object, const char *name, bool *out) MUST_CHECK;

#endif
