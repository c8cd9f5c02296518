#include "form.h"

#include "jsontext.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes len bytes of text to *to and moves it on. */
static struct form_text decode_text(const char *text, size_t len, char **to)
{
    struct form_text out = {*to, 0};

    for (size_t i = 0; i < len; i++) {
        int high = text[i] == '%' && i + 2 < len ? hex_digit(text[i + 1]) : -1;
        int low = high < 0 ? -1 : hex_digit(text[i + 2]);

        if (low >= 0) {
            *(*to)++ = (char)(high << 4 | low);
            i += 2;
        } else {
            *(*to)++ = text[i] == '+' ? ' ' : text[i];
        }
    }
    out.len = (size_t)(*to - out.at);
    return out;
}

/* How many non-empty elements there are between the ampersands. */
static size_t count_fields(const char *text, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += text[i] != '&' && (i == 0 || text[i - 1] == '&');
    return count;
}

enum status form_parse(const char *text, size_t len, struct form *form)
{
    const char *end = text + len, *next, *equals;
    size_t count = count_fields(text, len);
    char *to;

    memset(form, 0, sizeof(*form));
    if (count > FORM_FIELDS_MAX)
        return ST_FORM;
    form->store = malloc(len + 1);
    form->fields = calloc(count + 1, sizeof(*form->fields));
    if (form->store == NULL || form->fields == NULL)
        return ST_NOMEM;
    to = form->store;
    for (; text < end; text = next + 1) {
        struct form_field *field = &form->fields[form->count];

        next = memchr(text, '&', (size_t)(end - text));
        next = next == NULL ? end : next;
        if (next == text)
            continue;
        equals = memchr(text, '=', (size_t)(next - text));
        equals = equals == NULL ? next : equals;
        field->name = decode_text(text, (size_t)(equals - text), &to);
        if (equals < next)
            field->value = decode_text(equals + 1, (size_t)(next - equals - 1), &to);
        form->count++;
    }
    return ST_OK;
}

void form_release(struct form *form)
{
    free(form->store);
    free(form->fields);
    memset(form, 0, sizeof(*form));
}

const struct form_text *form_get(const struct form *form, const char *name)
{
    for (size_t i = 0; i < form->count; i++) {
        const struct form_text *text = &form->fields[i].name;

        if (text->len == strlen(name) && memcmp(text->at, name, text->len) == 0)
            return &form->fields[i].value;
    }
    return NULL;
}

static int compare_text(const struct form_text *a, const struct form_text *b)
{
    size_t len = a->len < b->len ? a->len : b->len;
    int order = len == 0 ? 0 : memcmp(a->at, b->at, len);

    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* By name; fields of one name in their order in the text. */
static int by_name(const void *a, const void *b)
{
    const struct form_field *const *fa = a, *const *fb = b;
    int order = compare_text(&(*fa)->name, &(*fb)->name);

    return order != 0 ? order : (*fa > *fb) - (*fa < *fb);
}

static int by_name_and_value(const void *a, const void *b)
{
    const struct form_field *const *fa = a, *const *fb = b;
    int order = compare_text(&(*fa)->name, &(*fb)->name);

    return order != 0 ? order : compare_text(&(*fa)->value, &(*fb)->value);
}

/* The fields in an order; NULL without memory. The caller frees them. */
static const struct form_field **sorted(const struct form *form,
                                        int (*order)(const void *, const void *))
{
    const struct form_field **fields = malloc((form->count + 1) * sizeof(const void *));

    if (fields == NULL)
        return NULL;
    for (size_t i = 0; i < form->count; i++)
        fields[i] = &form->fields[i];
    qsort(fields, form->count, sizeof(const void *), order);
    return fields;
}

static void json_text(const struct form_text *text, struct buf *out)
{
    const char *at = text->at;
    size_t left = text->len, step;

    buf_text(out, "\"");
    for (; left > 0; at += step, left -= step) {
        step = jsontext_utf8(at, left);
        if (step == 0) {
            buf_text(out, "\xef\xbf\xbd");
            step = 1;
        } else if (*at == '"' || *at == '\\') {
            buf_format(out, "\\%c", *at);
        } else if ((unsigned char)*at < 0x20) {
            buf_format(out, "\\u%04x", (unsigned)*at);
        } else {
            buf_add(out, at, step);
        }
    }
    buf_text(out, "\"");
}

void form_json(const struct form *form, struct buf *out)
{
    const struct form_field **fields = sorted(form, by_name);
    bool first, last;

    if (fields == NULL) {
        out->failed = true;
        return;
    }
    buf_text(out, "{");
    for (size_t i = 0; i < form->count; i++) {
        first = i == 0 || compare_text(&fields[i - 1]->name, &fields[i]->name) != 0;
        last = i + 1 == form->count || compare_text(&fields[i + 1]->name, &fields[i]->name) != 0;
        if (i > 0)
            buf_text(out, ",");
        if (first) {
            json_text(&fields[i]->name, out);
            buf_text(out, last ? ":" : ":[");
        }
        json_text(&fields[i]->value, out);
        if (last && !first)
            buf_text(out, "]");
    }
    buf_text(out, "}");
    free(fields);
}

void form_sorted(const struct form *form, struct buf *out)
{
    const struct form_field **fields = sorted(form, by_name_and_value);

    if (fields == NULL) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < form->count; i++) {
        if (i > 0 && by_name_and_value(&fields[i - 1], &fields[i]) == 0)
            continue;
        buf_add(out, fields[i]->name.at, fields[i]->name.len);
        buf_add(out, fields[i]->value.at, fields[i]->value.len);
    }
    free(fields);
}
