#include "handler.h"

#include <stdio.h>
#include <string.h>

/* Which file's handlers belong to which provider. */
static const struct {
    const char *provider;
    const struct handler *rows;
    const size_t *count;
} tables[] = {
    {"stripe", handler_invoice, &handler_invoice_count},
};

const struct handler *handler_find(const char *provider, const char *type)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        if (strcmp(tables[t].provider, provider) != 0)
            continue;
        for (size_t i = 0; i < *tables[t].count; i++) {
            if (strcmp(tables[t].rows[i].type, type) == 0)
                return &tables[t].rows[i];
        }
    }
    return NULL;
}

enum status handler_bind(const struct handler *handler, const struct event *event,
                         struct db_params *params, struct park *park)
{
    return handler == NULL ? ST_OK : handler->bind(event, params, park);
}

enum status handler_park(struct park *park, const char *field, const char *why)
{
    snprintf(park->why, sizeof(park->why), "%s %s", field, why);
    return ST_PARK;
}
