/* What is done with a configuration once it is read. */
#include "conf.h"

#include "conf_keys.h"

#include <stdlib.h>
#include <string.h>

static void wipe(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
}

void conf_free(struct conf *conf)
{
    if (conf == NULL)
        return;
    for (int i = 0; i < conf->count; i++) {
        struct conf_endpoint *e = &conf->endpoints[i];

        free(e->name);
        free(e->path);
        free(e->account);
        secrets_release(&e->policy.secrets);
        for (int k = 0; k < e->kept_count; k++)
            free(e->kept[k]);
        for (int s = 0; s < e->written_count; s++)
            wipe(e->written[s].text);
    }
    wipe(conf->database);
    free(conf->source);
    free(conf);
}

/* The path's length without a final slash; "/" alone stays. */
static size_t path_len(const char *path)
{
    size_t len = strlen(path);

    return len > 1 && path[len - 1] == '/' ? len - 1 : len;
}

const struct conf_endpoint *conf_route(const struct conf *conf, const char *path)
{
    size_t len = path_len(path);

    for (int i = 0; i < conf->count; i++) {
        const struct conf_endpoint *e = &conf->endpoints[i];

        if (e->path == NULL || (path_len(e->path) == len && memcmp(e->path, path, len) == 0))
            return e;
    }
    return NULL;
}

const struct conf_endpoint *conf_endpoint(const struct conf *conf, const char *name)
{
    for (int i = 0; i < conf->count; i++) {
        if (strcmp(conf->endpoints[i].name, name) == 0)
            return &conf->endpoints[i];
    }
    return NULL;
}

bool conf_time(const char *text, long *ms)
{
    static const struct {
        const char *unit;
        long ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    char *end;
    long value = strtol(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || strlen(text) > 12)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (strcmp(end, units[i].unit) == 0 && value <= 1000 * 86400000L / units[i].ms) {
            *ms = value * units[i].ms;
            return true;
        }
    }
    return false;
}

static void print_section(const struct conf *conf, const struct conf_endpoint *e, struct buf *out)
{
    const struct conf_key *key;
    struct buf value;

    for (size_t n = 0; (key = conf_key_at(n)) != NULL; n++) {
        if ((key->section == CONF_ENDPOINT) != (e != NULL))
            continue;
        buf_init(&value, out->cap);
        key->show(conf, e, &value);
        if (!buf_failed(&value) && value.len > 0) /* "(both)" is no value that could be set */
            buf_format(out, "%s%s = %s\n", value.data[0] == '(' ? "# " : "", key->name, value.data);
        out->failed = out->failed || value.failed;
        buf_release(&value);
    }
}

void conf_print(const struct conf *conf, struct buf *out)
{
    buf_format(out, "# from %s\n", conf->source);
    print_section(conf, NULL, out);
    for (int i = 0; i < conf->count; i++) {
        buf_format(out, "\n[endpoint %s]\n", conf->endpoints[i].name);
        print_section(conf, &conf->endpoints[i], out);
    }
}
