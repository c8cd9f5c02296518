#include "http.h"

#include <ctype.h>
#include <string.h>

const char *http_param(const struct http_request *request, const char *name)
{
    const char *value = request->param(request->io, name);

    return value == NULL || value[0] == '\0' ? NULL : value;
}

const char *http_header(const struct http_request *request, const char *name)
{
    char variable[80] = "HTTP_";
    size_t len = strlen("HTTP_");

    for (; *name != '\0' && len + 1 < sizeof(variable); name++)
        variable[len++] = *name == '-' ? '_' : (char)toupper((unsigned char)*name);
    variable[len] = '\0';
    return http_param(request, variable);
}

enum status http_length(const struct http_request *request, uint64_t *length)
{
    const char *text = http_param(request, "CONTENT_LENGTH");
    uint64_t value = 0;

    *length = HTTP_LENGTH_UNKNOWN;
    if (text == NULL)
        return request->body_ends ? ST_OK : ST_LENGTH_MISSING;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return ST_LENGTH;
        if (value < UINT64_MAX / 100) /* beyond any limit already, and stays there */
            value = value * 10 + (uint64_t)(*text - '0');
    }
    *length = value;
    return ST_OK;
}

/* Reads until the body holds want bytes or its stream ends. */
static enum status read_up_to(const struct http_request *request, size_t want, struct buf *body)
{
    while (body->len < want) {
        size_t chunk = want - body->len < 65536 ? want - body->len : 65536;
        char *to = buf_space(body, chunk);
        ssize_t got;

        if (to == NULL)
            return ST_NOMEM;
        got = request->read(request->io, to, chunk);
        if (got < 0)
            return got == -2 ? ST_BODY_SLOW : ST_BODY_SHORT;
        if (got == 0)
            break;
        buf_grew(body, (size_t)got);
    }
    return ST_OK;
}

enum status http_body(const struct http_request *request, uint64_t length, size_t max,
                      struct buf *body)
{
    bool declared = length != HTTP_LENGTH_UNKNOWN;
    enum status status;
    char more;

    if (declared && length > max)
        return ST_TOO_LARGE;
    buf_init(body, max + 1);
    status = read_up_to(request, declared ? (size_t)length : max + 1, body);
    if (status != ST_OK)
        return status;
    if (!declared)
        return body->len > max ? ST_TOO_LARGE : ST_OK;
    if (body->len < length)
        return ST_BODY_SHORT;
    if (!request->body_ends)
        return ST_OK; /* a CGI must not read past the length it was given */
    switch (request->read(request->io, &more, 1)) {
    case 0:
        return ST_OK;
    case 1:
        return ST_BODY_LONG;
    case -2:
        return ST_BODY_SLOW;
    default:
        return ST_BODY_SHORT;
    }
}

void http_drain(const struct http_request *request)
{
    uint64_t left = HTTP_DRAIN_MAX, declared;
    char waste[16384];
    ssize_t got;

    if (!request->body_ends &&
        (http_length(request, &declared) != ST_OK || declared == HTTP_LENGTH_UNKNOWN))
        return; /* nothing says where it ends */
    do {
        got = request->read(request->io, waste, left < sizeof(waste) ? left : sizeof(waste));
        if (got > 0)
            left -= (uint64_t)got;
    } while (got > 0 && left > 0);
}

/* Reason phrases are decoration (RFC 9112 section 4), but some servers pass them on. */
static const char *reason_phrase(int code)
{
    static const struct {
        int code;
        const char *phrase;
    } phrases[] = {
        {200, "OK"},
        {400, "Bad Request"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
    };

    for (size_t i = 0; i < ARRAY_LEN(phrases); i++) {
        if (phrases[i].code == code)
            return phrases[i].phrase;
    }
    return "Answer";
}

void http_format_body(const struct http_reply *reply, struct buf *out)
{
    if (reply->status == ST_OK && reply->answer.len > 0)
        buf_add(out, reply->answer.data, reply->answer.len);
    else if (reply->status == ST_OK)
        buf_format(out, "{\"outcome\":\"%s\"}\n", reply->outcome);
    else
        buf_format(out, "{\"error\":\"%s\"}\n", status_word(reply->status));
}

void http_format(const struct http_reply *reply, struct buf *out)
{
    int code = status_http(reply->status);
    struct buf body;

    buf_init(&body, 256);
    http_format_body(reply, &body);
    buf_format(out, "Status: %d %s\r\n", code, reason_phrase(code));
    buf_text(out, "Content-Type: application/json\r\nCache-Control: no-store\r\n");
    if (reply->status == ST_METHOD)
        buf_text(out, "Allow: POST\r\n");
    if (status_http(reply->status) == 503)
        buf_format(out, "Retry-After: %d\r\n", HTTP_RETRY_AFTER);
    buf_format(out, "Content-Length: %zu\r\n\r\n", body.len);
    if (!reply->head)
        buf_add(out, body.data, body.len);
    buf_release(&body);
}
