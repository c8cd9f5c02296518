/* What a configuration must hold, judged when all of it was read. */
#include "conf_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOLERANCE_DEFAULT = 300 };

/* The text of a secret file, trimmed by scheme_key. */
static bool read_secret_file(struct conf_reading *r, const struct conf_secret *written, char *text,
                             size_t room)
{
    const char *path = written->text + strlen("file:");
    FILE *file = path[0] == '/' ? fopen(path, "r") : NULL;
    struct stat st;
    size_t len;

    if (file == NULL) {
        conf_mistake(r, written->line,
                     "secret file \"%s\" cannot be read (%s): give its whole path, "
                     "and let uid %ld read it",
                     path, path[0] == '/' ? strerror(errno) : "no whole path", (long)geteuid());
        return false;
    }
    len = fread(text, 1, room, file);
    if (len == room || memchr(text, '\0', len) != NULL)
        conf_mistake(r, written->line, "secret file \"%s\" holds more than one secret's text",
                     path);
    text[len < room ? len : room - 1] = '\0';
    if (fstat(fileno(file), &st) != 0 || (st.st_mode & S_IROTH) != 0)
        conf_mistake(r, written->line, "secret file \"%s\" can be read by others: chmod 600 it",
                     path);
    fclose(file);
    return r->status == ST_OK;
}

/* The text behind a written secret into room bytes. */
static bool resolve(struct conf_reading *r, const struct conf_secret *written, char *text,
                    size_t room)
{
    const char *value = written->text, *name;

    if (strncmp(value, "file:", 5) == 0)
        return read_secret_file(r, written, text, room);
    if (strncmp(value, "env:", 4) == 0) {
        name = value + 4;
        /* a request header can make such a variable, so anybody could set the secret */
        value = strncmp(name, "HTTP_", 5) == 0 ? NULL : conf_variable(r->lookup, name);
        if (value == NULL) {
            conf_mistake(r, written->line,
                         "secret: the environment has no variable %s: set it for the "
                         "web server, or use file:PATH",
                         name);
            return false;
        }
    }
    if ((size_t)snprintf(text, room, "%s", value) >= room) {
        conf_mistake(r, written->line, "secret is longer than %zu bytes", room - 1);
        return false;
    }
    return true;
}

void conf_take_secrets(struct conf_reading *r, struct conf_endpoint *e)
{
    char text[SCHEME_SECRET_MAX + 1];
    const char *wrong;

    for (int i = 0; i < e->written_count && r->status == ST_OK; i++) {
        if (!resolve(r, &e->written[i], text, sizeof(text)))
            break;
        wrong = scheme_secret(&e->policy, text);
        if (wrong != NULL)
            conf_mistake(r, e->written[i].line, "the secret of endpoint \"%s\" %s", e->name, wrong);
    }
    explicit_bzero(text, sizeof(text));
}

/* What the configuration must give to a row of its own. */
static void check_own(struct conf_reading *r, struct conf_endpoint *e)
{
    struct scheme *own = &e->own;
    const char *id = own->id[0].where;
    bool timed = own->time_header != NULL || own->time_label != NULL;

    if (own->header == NULL)
        conf_mistake(r, e->line,
                     "endpoint \"%s\" has no header: add header = X-Signature, the name of the "
                     "header that holds the signature",
                     e->name);
    if (id == NULL)
        conf_mistake(r, e->line,
                     "endpoint \"%s\" has no id: add id = header:NAME, body:PATH or digest: where "
                     "an event's own id stands",
                     e->name);
    if (own->type[0].where == NULL)
        conf_mistake(r, e->line,
                     "endpoint \"%s\" has no type: add type = header:NAME, body:PATH or is:TEXT: "
                     "where an event's type stands",
                     e->name);
    if (scheme_signs(own, "{time}") != timed)
        conf_mistake(r, e->line,
                     timed
                         ? "endpoint \"%s\": a timestamp counts only when it is signed: put {time} "
                           "into signed, or take timestamp away"
                         : "endpoint \"%s\": signed has a {time}: add timestamp = NAME, the header "
                           "that holds it",
                     e->name);
    if (scheme_signs(own, "{id}") && id != NULL && strncmp(id, "header:", 7) != 0)
        conf_mistake(r, e->line,
                     "endpoint \"%s\": signed has an {id}: add id = header:NAME, the header that "
                     "holds it",
                     e->name);
    own->id_header = scheme_signs(own, "{id}") && id != NULL ? id + 7 : NULL;
    own->tolerance = timed ? TOLERANCE_DEFAULT : 0;
}

/* Keys that say nothing to this provider: more likely a mistake than a wish. */
static void check_use(struct conf_reading *r, const struct conf_endpoint *e)
{
    const struct scheme *scheme = e->policy.scheme;
    bool signs_url = scheme_signs(scheme, "{url}");

    if (scheme != &e->own && e->own_line != 0)
        conf_mistake(r, e->own_line, "%s is for provider hmac alone: %s has its own, take it away",
                     e->own_key, scheme->provider);
    if (signs_url && e->policy.url == NULL)
        conf_mistake(
            r, e->line,
            "endpoint \"%s\" has no url, and %s signs it: add url = https://..., exactly as "
            "the provider calls it",
            e->name, scheme->provider);
    if (!signs_url && e->policy.url != NULL)
        conf_mistake(r, e->line, "endpoint \"%s\" has a url, but %s does not sign it: take it away",
                     e->name, scheme->provider);
    if (e->policy.tolerance >= 0 && scheme_tolerance(scheme) == 0)
        conf_mistake(r, e->line,
                     "endpoint \"%s\" has a tolerance, but %s signs no time: take it away", e->name,
                     scheme->provider);
    if (!scheme->circumstances && (e->livemode >= 0 || strcmp(e->account, "none") != 0))
        conf_mistake(r, e->line,
                     "endpoint \"%s\": livemode and account are Stripe's: take them away", e->name);
}

/* What an endpoint must have. */
static void check_endpoint(struct conf_reading *r, struct conf_endpoint *e)
{
    const struct conf_endpoint *other;

    if (e->path == NULL)
        conf_mistake(r, e->line, "endpoint \"%s\" has no path: add path = /webhooks/%s", e->name,
                     e->name);
    if (e->policy.scheme == NULL)
        conf_mistake(r, e->line, "endpoint \"%s\" has no provider: add provider = stripe", e->name);
    if (e->written_count == 0)
        conf_mistake(r, e->line,
                     "endpoint \"%s\" has no secret: add secret = file:/PATH, the secret "
                     "that the provider shows for this endpoint",
                     e->name);
    if (r->status != ST_OK || e->policy.scheme == NULL)
        return;
    other = conf_route(r->target.conf, e->path);
    if (other != e)
        conf_mistake(r, e->line,
                     "endpoint \"%s\" has the path of endpoint \"%s\": give each its own", e->name,
                     other->name);
    if (e->policy.scheme == &e->own)
        check_own(r, e);
    check_use(r, e);
    if (e->policy.tolerance < 0)
        e->policy.tolerance = scheme_tolerance(e->policy.scheme);
    conf_take_secrets(r, e);
}

static bool holds_secret(const struct conf *conf)
{
    struct buf shown;
    bool masked;

    buf_init(&shown, 1 << 20);
    conf_print(conf, &shown);
    masked = buf_failed(&shown) || strstr(shown.data, "********") != NULL;
    buf_release(&shown);
    return masked;
}

void conf_check(struct conf_reading *r)
{
    struct conf *conf = r->target.conf;
    struct stat st;

    if (conf->database == NULL)
        conf_mistake(r, 0,
                     "no database: add database = postgresql:///NAME above the first section");
    if (conf->count == 0)
        conf_mistake(r, 0,
                     "no endpoint: add a section [endpoint NAME] with path, provider and secret");
    for (int i = 0; i < conf->count && r->status == ST_OK; i++)
        check_endpoint(r, &conf->endpoints[i]);
    if (r->status == ST_OK && fstat(fileno(r->file), &st) == 0 && (st.st_mode & S_IROTH) != 0 &&
        holds_secret(conf))
        conf_mistake(r, 0, "holds a secret and can be read by others: chmod 600 it");
}
