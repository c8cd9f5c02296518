#include "conf_keys.h"

#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "out of memory";

static const char *set_text(char **to, const char *value)
{
    if (*to != NULL)
        explicit_bzero(*to, strlen(*to)); /* a connection string may hold a password */
    free(*to);
    *to = strdup(value);
    return *to == NULL ? no_memory : NULL;
}

/* A plain number within bounds; K and M multiply by 1024 where allowed. */
static bool number(const char *text, long low, long high, bool units, long *out)
{
    char *end;

    if (text[0] < '0' || text[0] > '9' || strlen(text) > 12)
        return false;
    *out = strtol(text, &end, 10);
    if (units && (*end == 'K' || *end == 'M'))
        *out *= *end++ == 'K' ? 1024 : 1024 * 1024;
    return *end == '\0' && *out >= low && *out <= high;
}

static bool on_off(const char *text, bool *out)
{
    *out = strcmp(text, "on") == 0 || strcmp(text, "true") == 0 || strcmp(text, "yes") == 0;
    return *out || strcmp(text, "off") == 0 || strcmp(text, "false") == 0 ||
           strcmp(text, "no") == 0;
}

/* Lines of a long connection string are joined by a blank: inih's lines are short. */
static const char *set_database(struct conf_target *t, const char *value)
{
    struct buf joined;
    const char *wrong;

    if (value[0] == '\0')
        return "is empty: write a connection string, such as postgresql:///billing";
    buf_init(&joined, 8192);
    if (t->conf->database != NULL)
        buf_format(&joined, "%s ", t->conf->database);
    buf_text(&joined, value);
    wrong = buf_failed(&joined) ? "is too long" : set_text(&t->conf->database, joined.data);
    buf_wipe(&joined);
    return wrong;
}

/* Whether a connection string may hold a password, in either form that libpq takes.
 * Too often yes is safe: it is then not shown, and the file must be kept from others. */
static bool may_hold_password(const char *text)
{
    const char *user = strstr(text, "://"), *at = strrchr(text, '@'), *colon;

    if (strstr(text, "password") != NULL)
        return true;
    colon = user == NULL ? NULL : strchr(user + 3, ':');
    return at != NULL && colon != NULL && colon < at;
}

static void show_database(const struct conf *conf, const struct conf_endpoint *e UNUSED,
                          struct buf *out)
{
    const char *text = conf->database == NULL ? "" : conf->database;

    buf_text(out, may_hold_password(text) ? "********" : text);
}

static const char *set_healthz(struct conf_target *t, const char *value)
{
    return on_off(value, &t->conf->healthz) ? NULL : "must be on or off";
}

static void show_healthz(const struct conf *conf, const struct conf_endpoint *e UNUSED,
                         struct buf *out)
{
    buf_text(out, conf->healthz ? "on" : "off");
}

static const char *set_path(struct conf_target *t, const char *value)
{
    if (value[0] != '/' || strpbrk(value, " \t?#%") != NULL || strstr(value, "//") != NULL)
        return "must begin with a slash and hold no blank, query or %: such as /webhooks/stripe";
    return set_text(&t->endpoint->path, value);
}

static void show_path(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                      struct buf *out)
{
    buf_text(out, e->path == NULL ? "(every path)" : e->path);
}

static const char *set_provider(struct conf_target *t, const char *value)
{
    struct scheme_policy *policy = &t->endpoint->policy;

    policy->scheme = scheme_find(value);
    if (policy->scheme == NULL)
        return scheme_unknown;
    if (strcmp(value, "hmac") == 0)
        policy->scheme = &t->endpoint->own;
    return NULL;
}

static void show_provider(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                          struct buf *out)
{
    buf_text(out, e->policy.scheme == &e->own ? "hmac" : e->policy.scheme->provider);
}

static const char *set_secret(struct conf_target *t, const char *value)
{
    struct conf_secret *written = &t->endpoint->written[t->endpoint->written_count];

    if (t->endpoint->written_count == SECRETS_MAX)
        return "is one too many: eight secrets are the most, take old ones away";
    written->line = t->line;
    written->text = strdup(value);
    if (written->text == NULL)
        return no_memory;
    t->endpoint->written_count++;
    return NULL;
}

/* Where a secret comes from is shown, a literal one is not. */
static void show_secret(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                        struct buf *out)
{
    for (int i = 0; i < e->written_count; i++) {
        const char *text = e->written[i].text;
        bool named = strncmp(text, "env:", 4) == 0 || strncmp(text, "file:", 5) == 0;

        buf_format(out, "%s%s", i == 0 ? "" : "\nsecret = ", named ? text : "********");
    }
}

static const char *const modes[] = {
    [MODE_SYNC] = "sync", [MODE_ASYNC] = "async", [MODE_AUTO] = "auto"};

static const char *set_mode(struct conf_target *t, const char *value)
{
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (strcmp(value, modes[i]) == 0) {
            t->endpoint->mode = (enum conf_mode)i;
            return NULL;
        }
    }
    return "is not a known mode: use sync, async or auto";
}

static void show_mode(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                      struct buf *out)
{
    buf_text(out, modes[e->mode]);
}

static const char *set_deadline(struct conf_target *t, const char *value)
{
    long ms;

    if (!conf_time(value, &ms) || ms < 100 || ms > CONF_DEADLINE_MS)
        return "must be a time from 100ms to 4s";
    t->endpoint->deadline_ms = (int)ms;
    return NULL;
}

static void show_deadline(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                          struct buf *out)
{
    buf_format(out, "%dms", e->deadline_ms);
}

static const char *set_drain(struct conf_target *t, const char *value)
{
    long ms = 0;

    if (strcmp(value, "off") != 0 && (!conf_time(value, &ms) || ms < 1 || ms > 60000))
        return "must be off, or a time from 1ms to 60s";
    t->conf->drain_ms = (int)ms;
    return NULL;
}

static void show_drain(const struct conf *conf, const struct conf_endpoint *e UNUSED,
                       struct buf *out)
{
    if (conf->drain_ms == 0)
        buf_text(out, "off");
    else
        buf_format(out, "%dms", conf->drain_ms);
}

static const char *set_tolerance(struct conf_target *t, const char *value)
{
    long seconds;

    if (!number(value, 1, 604800, false, &seconds))
        return "must be whole seconds from 1 to 604800";
    t->endpoint->policy.tolerance = (int)seconds;
    return NULL;
}

static void show_tolerance(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                           struct buf *out)
{
    if (e->policy.tolerance > 0)
        buf_format(out, "%d", e->policy.tolerance);
}

static const char *set_max_body(struct conf_target *t, const char *value)
{
    long bytes;

    if (!number(value, 1024, 64L << 20, true, &bytes))
        return "must be bytes from 1024 to 67108864 (or 1K to 64M)";
    t->endpoint->max_body = (size_t)bytes;
    return NULL;
}

static void show_max_body(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                          struct buf *out)
{
    buf_format(out, "%zu", e->max_body);
}

static const char *set_livemode(struct conf_target *t, const char *value)
{
    bool on;

    if (!on_off(value, &on))
        return "must be true (live events alone) or false (test events alone)";
    t->endpoint->livemode = on;
    return NULL;
}

static void show_livemode(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                          struct buf *out)
{
    if (!e->policy.scheme->circumstances)
        return;
    buf_text(out, e->livemode < 0 ? "(both)" : e->livemode > 0 ? "true" : "false");
}

static const char *set_account(struct conf_target *t, const char *value)
{
    if (strcmp(value, "none") != 0 && strcmp(value, "any") != 0 &&
        (strncmp(value, "acct_", 5) != 0 || value[5] == '\0'))
        return "must be none, any, or one account (acct_...)";
    return set_text(&t->endpoint->account, value);
}

static void show_account(const struct conf *conf UNUSED, const struct conf_endpoint *e,
                         struct buf *out)
{
    if (e->policy.scheme->circumstances)
        buf_text(out, e->account);
}

static const struct conf_key keys[] = {
    {CONF_GLOBAL, "database", true, set_database, show_database,
     "libpq connection string; several lines are joined"},
    {CONF_GLOBAL, "healthz", false, set_healthz, show_healthz, "answer GET /healthz (off)"},
    {CONF_GLOBAL, "drain", false, set_drain, show_drain, "work what waits after an answer (off)"},
    {CONF_ENDPOINT, "path", false, set_path, show_path, "where it answers"},
    {CONF_ENDPOINT, "provider", false, set_provider, show_provider, "who sends"},
    {CONF_ENDPOINT, "secret", true, set_secret, show_secret, "literal, env:NAME or file:PATH"},
    {CONF_ENDPOINT, "mode", false, set_mode, show_mode, "sync, async or auto"},
    {CONF_ENDPOINT, "deadline", false, set_deadline, show_deadline, "of mode auto (4s)"},
    {CONF_ENDPOINT, "tolerance", false, set_tolerance, show_tolerance,
     "seconds a signature may be old"},
    {CONF_ENDPOINT, "max_body", false, set_max_body, show_max_body, "bytes (1M)"},
    {CONF_ENDPOINT, "livemode", false, set_livemode, show_livemode, "apply live or test alone"},
    {CONF_ENDPOINT, "account", false, set_account, show_account, "none, any or acct_... (none)"},
};

const struct conf_key *conf_key_find(enum conf_section section, const char *name)
{
    const struct conf_key *key;

    for (size_t n = 0; (key = conf_key_at(n)) != NULL; n++) {
        if (key->section == section && strcmp(key->name, name) == 0)
            return key;
    }
    return NULL;
}

const struct conf_key *conf_key_at(size_t n)
{
    if (n < ARRAY_LEN(keys))
        return &keys[n];
    n -= ARRAY_LEN(keys);
    return n < conf_hmac_count ? &conf_hmac_keys[n] : NULL;
}
