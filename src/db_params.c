#include "db.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Types are named, so that a parameter which a statement does not use has one too.
 * The numbers are fixed in PostgreSQL's pg_type.dat. */
enum { OID_BOOL = 16, OID_BYTEA = 17, OID_INT8 = 20, OID_TEXT = 25, OID_JSONB = 3802 };
enum { FORMAT_TEXT, FORMAT_BINARY };

static void add(struct db_params *p, unsigned type, const char *value, size_t len, int format)
{
    if (p->count == DB_PARAMS_MAX) {
        p->overflow = true;
        return;
    }
    p->type[p->count] = type;
    p->value[p->count] = value;
    p->length[p->count] = (int)len; /* read by libpq for binary values alone */
    p->format[p->count] = format;
    p->count++;
}

void db_text(struct db_params *p, const char *text)
{
    add(p, OID_TEXT, text, 0, FORMAT_TEXT);
}

void db_json(struct db_params *p, const char *text, size_t len)
{
    add(p, OID_JSONB, text, len, FORMAT_TEXT);
}

void db_bytes(struct db_params *p, const void *bytes, size_t len)
{
    add(p, OID_BYTEA, bytes, len, FORMAT_BINARY);
}

void db_int(struct db_params *p, int64_t value)
{
    char *text = p->number[p->count < DB_PARAMS_MAX ? p->count : 0];

    if (p->count < DB_PARAMS_MAX)
        snprintf(text, sizeof(p->number[0]), "%" PRId64, value);
    add(p, OID_INT8, text, 0, FORMAT_TEXT);
}

void db_int_null(struct db_params *p)
{
    add(p, OID_INT8, NULL, 0, FORMAT_TEXT);
}

void db_bool(struct db_params *p, int value)
{
    add(p, OID_BOOL, value < 0 ? NULL : value != 0 ? "t" : "f", 0, FORMAT_TEXT);
}
