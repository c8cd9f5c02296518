#include "receive.h"

#include "clock.h"
#include "conf.h"
#include "db.h"
#include "delivery.h"
#include "handler.h"
#include "inbox.h"
#include "log.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ANSWER_MAX = 65536, TRIES = 3, JITTER_LOW_MS = 20, JITTER_HIGH_MS = 250 };

/* What is worked after an answer: a process that does it takes no delivery meanwhile. */
static const struct claim_policy drain_policy = {
    .max_attempts = 10,
    .lease_seconds = 120,
    .batch = 4,
    .limits = {.statement_ms = 4000, .lock_ms = 1000},
};

struct receive {
    char named[CONF_PATH_MAX]; /* HOOKONCE_CONF when conf was read, "" without */
    struct conf *conf;         /* NULL: not read yet, or bad */
    char error[CONF_ERROR_MAX];
    struct db *db;
    enum status drained; /* how the last drain ended */
};

struct receive *receive_new(void)
{
    return calloc(1, sizeof(struct receive));
}

void receive_free(struct receive *rx)
{
    if (rx == NULL)
        return;
    db_free(rx->db);
    conf_free(rx->conf);
    free(rx);
}

static enum status load(struct receive *rx, const struct conf_lookup *lookup)
{
    char path[CONF_PATH_MAX], error[CONF_ERROR_MAX];
    enum status status;

    db_free(rx->db);
    conf_free(rx->conf);
    rx->db = NULL;
    conf_find(lookup, path);
    status = conf_load(path, lookup, &rx->conf, error);
    if (status != ST_OK) {
        if (strcmp(error, rx->error) != 0)
            log_say("%s", error); /* told once, not at every request */
        memcpy(rx->error, error, sizeof(error));
        return status;
    }
    rx->error[0] = '\0';
    rx->db = db_new(rx->conf->database);
    if (rx->db == NULL) {
        conf_free(rx->conf);
        rx->conf = NULL;
        return ST_NOMEM;
    }
    return ST_OK;
}

/* Reads the configuration at the first request, again while it is bad, and again when a
 * request names another one. */
static enum status configured(struct receive *rx, const struct http_request *request)
{
    const struct conf_lookup lookup = {request->param, request->io};
    const char *named = conf_variable(&lookup, "HOOKONCE_CONF");

    if (named == NULL)
        named = "";
    if (rx->conf != NULL && strcmp(named, rx->named) == 0)
        return ST_OK;
    rx->named[0] = '\0';
    strncat(rx->named, named, sizeof(rx->named) - 1);
    return load(rx, &lookup);
}

static const char *param_or_empty(const struct http_request *request, const char *name)
{
    const char *value = http_param(request, name);

    return value == NULL ? "" : value;
}

/* The whole path first, then PATH_INFO alone: servers cut it in different places, and with
 * the whole one first a URL has the same endpoint behind each. Never REQUEST_URI, which a
 * rewrite leaves as it was. */
static const struct conf_endpoint *route(const struct conf *conf,
                                         const struct http_request *request)
{
    const char *script = param_or_empty(request, "SCRIPT_NAME");
    const char *info = param_or_empty(request, "PATH_INFO");
    const struct conf_endpoint *endpoint = NULL;
    struct buf whole;

    buf_init(&whole, CONF_PATH_MAX);
    buf_format(&whole, "%s%s", script, info);
    if (!buf_failed(&whole))
        endpoint = conf_route(conf, whole.data);
    buf_release(&whole);
    return endpoint == NULL && info[0] != '\0' ? conf_route(conf, info) : endpoint;
}

static enum status check_encoding(const struct http_request *request)
{
    const char *encoding = http_param(request, "HTTP_CONTENT_ENCODING");

    return encoding == NULL || strcasecmp(encoding, "identity") == 0 ? ST_OK : ST_ENCODING;
}

/* The whole raw body, after everything that can be refused without it. */
static enum status read_body(const struct http_request *request, struct delivery *d)
{
    enum status status;
    uint64_t length;

    status = http_length(request, &length);
    if (status == ST_OK && length != HTTP_LENGTH_UNKNOWN && length > d->endpoint->max_body)
        status = ST_TOO_LARGE;
    if (status == ST_OK)
        status = check_encoding(request);
    if (status == ST_OK)
        status = http_body(request, length, d->endpoint->max_body, &d->body);
    return status;
}

/* Why events of this kind are recorded here and never applied; NULL when they are. */
static const char *unwanted(const struct conf_endpoint *endpoint, const struct event *event)
{
    bool ours;

    if (endpoint->livemode >= 0 && endpoint->livemode != event->livemode)
        return "not for this endpoint: livemode";
    if (strcmp(endpoint->account, "any") == 0)
        return NULL;
    if (strcmp(endpoint->account, "none") == 0)
        ours = event->account == NULL;
    else
        ours = event->account != NULL && strcmp(endpoint->account, event->account) == 0;
    return ours ? NULL : "not for this endpoint: account";
}

/* One transaction, of the endpoint's mode. What is not for us is recorded and ignored. */
static enum status receive_once(struct receive *rx, const struct receipt *receipt,
                                struct delivery *d)
{
    const struct conf_endpoint *e = d->endpoint;
    const struct handler *handler = handler_find(receipt->provider, d->event.type);
    const char *why = unwanted(e, &d->event);

    if (why != NULL)
        return receive_unwanted(rx->db, receipt, why, &d->received);
    switch (e->mode) {
    case MODE_ASYNC:
        return receive_async(rx->db, receipt, handler, &d->received);
    case MODE_AUTO:
        return receive_auto(rx->db, receipt, handler, e->deadline_ms, &d->received);
    default:
        return receive_sync(rx->db, receipt, handler, &d->received);
    }
}

/* Runs the transaction, and the whole of it again when that may help. */
static enum status store(struct receive *rx, struct delivery *d)
{
    const struct receipt receipt = {d->endpoint->policy.scheme->provider, d->endpoint->name,
                                    &d->event};
    int64_t deadline = clock_ms() + RECEIVE_BUDGET_MS;
    enum status status;

    db_until(rx->db, deadline);
    for (;;) {
        d->tries++;
        status = db_ready(rx->db);
        if (status == ST_OK)
            status = receive_once(rx, &receipt, d);
        if (!status_retry(status) || d->tries == TRIES || clock_left(deadline) == 0)
            break;
        clock_jitter(JITTER_LOW_MS, JITTER_HIGH_MS, deadline);
    }
    d->db_error = status == ST_OK && !d->received.deferred ? "" : db_error(rx->db);
    return status;
}

/* A delivery's way, from method to COMMIT. */
static enum status deliver(struct receive *rx, const struct http_request *request,
                           struct delivery *d)
{
    enum status status = configured(rx, request);

    d->conf_error = rx->error;
    if (status != ST_OK)
        return status;
    d->endpoint = route(rx->conf, request);
    if (d->endpoint == NULL)
        return ST_PATH;
    status = read_body(request, d);
    if (status == ST_OK && scheme_ping(d->endpoint->policy.scheme, request, &d->body)) {
        d->asked = "ping";
        return ST_OK;
    }
    if (status == ST_OK)
        status = scheme_verify(&d->endpoint->policy, request, &d->body, clock_wall(), &d->signature,
                               &d->verified);
    if (status == ST_OK)
        status = event_parse(d->verified, &d->event);
    if (status == ST_OK && event_asks(&d->event, d->endpoint->policy.scheme))
        d->asked = d->event.type;
    else if (status == ST_OK)
        status = store(rx, d);
    return status;
}

/* GET or HEAD /healthz, where it is switched on. */
static bool asks_for_health(struct receive *rx, const struct http_request *request,
                            const char *method)
{
    const char *script = param_or_empty(request, "SCRIPT_NAME");
    const char *info = param_or_empty(request, "PATH_INFO");

    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return false;
    if (strcmp(info, "/healthz") != 0 && (info[0] != '\0' || strcmp(script, "/healthz") != 0))
        return false;
    return configured(rx, request) == ST_OK && rx->conf->healthz;
}

static enum status health(struct receive *rx, struct delivery *d)
{
    struct db_rows *rows = NULL;
    enum status status;

    db_until(rx->db, clock_ms() + RECEIVE_BUDGET_MS);
    status = db_ready(rx->db);
    if (status == ST_OK)
        status = db_query(rx->db, "SELECT 1", NULL, &rows);
    db_rows_free(rows);
    d->db_error = db_error(rx->db);
    return status == ST_OK ? ST_OK : ST_DB_DOWN;
}

void receive_after(void *self)
{
    struct receive *rx = self;
    struct worker worker = {.policy = &drain_policy, .turn_fd = -1, .drain = true};
    enum status status;

    if (rx->conf == NULL || rx->conf->drain_ms == 0)
        return;
    worker.db = rx->db;
    worker.until_ms = clock_ms() + rx->conf->drain_ms;
    status = worker_drain(&worker);
    if (status != ST_OK && status != rx->drained) /* told once */
        log_say("after the answer: %s: %s", status_text(status), db_error(rx->db));
    rx->drained = status;
}

void receive_handle(void *self, struct http_request *request, struct http_reply *reply)
{
    const char *method = param_or_empty(request, "REQUEST_METHOD");
    struct receive *rx = self;
    struct delivery d;

    delivery_init(&d, request);
    buf_init(&reply->answer, ANSWER_MAX);
    if (strcmp(method, "POST") == 0) {
        reply->status = deliver(rx, request, &d);
        reply->outcome = outcome_word(d.asked != NULL ? OUTCOME_IGNORED : d.received.outcome);
        if (reply->status == ST_OK && d.asked != NULL && d.event.json != NULL)
            event_answer(&d.event, d.endpoint->policy.scheme, &reply->answer);
    } else if (asks_for_health(rx, request, method)) {
        reply->status = health(rx, &d);
        reply->outcome = "healthy";
        reply->head = method[0] == 'H';
    } else {
        reply->status = ST_METHOD;
    }
    if (reply->status != ST_OK || strcmp(reply->outcome, "healthy") != 0)
        delivery_log(&d, reply->status);
    delivery_release(&d);
}
