/* form.h: fields of an HTML form (application/x-www-form-urlencoded).
 * Decoded as browsers and PHP do: + is a blank, %XX a byte, a % without two hex digits
 * stays what it is. Owns its fields; releasing a zeroed struct is legal. */
#ifndef HOOKONCE_FORM_H
#define HOOKONCE_FORM_H

#include "buf.h"
#include "compiler.h"
#include "status.h"
#include <stddef.h>

#define FORM_FIELDS_MAX 1000

struct form_text {
    const char *at; /* not ended by a NUL, and it may hold one */
    size_t len;
};

struct form_field {
    struct form_text name;
    struct form_text value;
};

struct form {
    char *store;
    struct form_field *fields; /* in their order in the text */
    size_t count;
};

/* ST_FORM: more than FORM_FIELDS_MAX fields. ST_NOMEM. form_release must follow. */
enum status form_parse(const char *text, size_t len, struct form *form) MUST_CHECK;
void form_release(struct form *form);

/* The first field of that name, NULL when there is none. */
const struct form_text *form_get(const struct form *form, const char *name);

/* Appends the fields as one JSON object of texts; a name that comes more than once
 * has an array of them. Bytes that are no UTF-8 become U+FFFD. */
void form_json(const struct form *form, struct buf *out);

/* Appends name and value of each field, sorted by both, equal ones once: what Twilio
 * signs behind the URL (its node library, src/webhooks). */
void form_sorted(const struct form *form, struct buf *out);

#endif
