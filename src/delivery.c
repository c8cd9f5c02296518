#include "delivery.h"

#include "clock.h"
#include "log.h"

#include <inttypes.h>
#include <string.h>

enum { REFUSALS_A_SECOND = 20 };

void delivery_init(struct delivery *d, const struct http_request *request)
{
    memset(d, 0, sizeof(*d));
    d->request = request;
    d->began = clock_ms();
    d->db_error = d->conf_error = "";
}

void delivery_release(struct delivery *d)
{
    event_release(&d->event);
    verified_free(d->verified);
    buf_release(&d->body);
}

/* Whether this refusal is one too many for this second; *unsaid: how many were before. */
static bool too_many(unsigned *unsaid)
{
    static int64_t second;
    static unsigned said, held;
    int64_t now = clock_ms() / 1000;

    *unsaid = 0;
    if (now != second) {
        second = now;
        said = 0;
    }
    if (++said > REFUSALS_A_SECOND) {
        held++;
        return true;
    }
    *unsaid = held;
    held = 0;
    return false;
}

/* What the client sent instead of what was expected. */
static void log_cause(struct log_line *line, const struct delivery *d, enum status status)
{
    static const struct {
        enum status status;
        const char *key;
        const char *param;
    } causes[] = {
        {ST_METHOD, "method", "REQUEST_METHOD"},
        {ST_PATH, "script", "SCRIPT_NAME"},
        {ST_PATH, "path", "PATH_INFO"},
        {ST_LENGTH, "length", "CONTENT_LENGTH"},
        {ST_TOO_LARGE, "length", "CONTENT_LENGTH"},
        {ST_BODY_SHORT, "length", "CONTENT_LENGTH"},
        {ST_ENCODING, "encoding", "HTTP_CONTENT_ENCODING"},
    };

    log_text(line, "reason", status_word(status));
    for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
        if (causes[i].status == status)
            log_text(line, causes[i].key, http_param(d->request, causes[i].param));
    }
    if (d->db_error[0] != '\0')
        log_text(line, "database", d->db_error);
    if (d->conf_error[0] != '\0')
        log_text(line, "configuration", d->conf_error);
}

static void log_outcome(struct log_line *line, const struct delivery *d)
{
    if (d->asked != NULL) {
        log_add(line, "outcome", "%s", outcome_word(OUTCOME_IGNORED));
        log_text(line, "asked", d->asked);
        return;
    }
    log_add(line, "outcome", "%s", outcome_word(d->received.outcome));
    if (d->received.outcome == OUTCOME_PARKED)
        log_text(line, "parked", d->received.parked.why);
    if (d->received.deferred)
        log_text(line, "database", d->db_error);
    if (d->received.other_body)
        log_add(line, "body", "differs");
}

static void log_signature(struct log_line *line, const struct delivery *d)
{
    const struct scheme_facts *facts = &d->signature;

    if (facts->other_key != KEY_OF_SCHEME)
        log_add(line, "hint", "%s",
                facts->other_key == KEY_TEXT ? "it matches with key=text"
                                             : "it matches with key=base64");
    if (facts->secret == 0 || d->endpoint == NULL)
        return;
    log_add(line, "secret", "%d", facts->secret);
    if (facts->timed &&
        (facts->age > d->endpoint->policy.tolerance || facts->age < -d->endpoint->policy.tolerance))
        log_add(line, "skew", "%" PRId64 "s", facts->age);
}

void delivery_log(const struct delivery *d, enum status status)
{
    int code = status_http(status);
    struct log_line line;
    unsigned unsaid = 0;

    if (code >= 400 && code < 500 && too_many(&unsaid))
        return;
    log_begin(&line);
    log_add(&line, "status", "%d", code);
    if (d->endpoint != NULL)
        log_add(&line, "endpoint", "%s", d->endpoint->name);
    if (status == ST_OK)
        log_outcome(&line, d);
    else
        log_cause(&line, d, status);
    log_text(&line, "event", d->event.id);
    log_text(&line, "type", d->event.type);
    log_text(&line, "account", d->event.account);
    log_signature(&line, d);
    if (d->tries > 1)
        log_add(&line, "tries", "%d", d->tries);
    log_add(&line, "bytes", "%zu", d->body.len);
    log_add(&line, "ms", "%" PRId64, clock_ms() - d->began);
    if (unsaid > 0)
        log_add(&line, "unsaid", "%u", unsaid);
    log_end(&line);
}
