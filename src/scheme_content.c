#include "scheme_content.h"

#include "form.h"

#include <string.h>
#include <strings.h>

enum { URL_MAX = 8192, HEX_SHA256 = 64 };

/* Parts of a content in braces. */
static const char *const names[] = {"{time}", "{id}", "{url}", "{form}", "{body}"};
enum { TIME, ID, URL, FORM, BODY };

void content_init(struct scheme_content *content, const void *body, size_t len)
{
    memset(content, 0, sizeof(*content));
    content->body = body == NULL ? "" : body;
    content->body_len = len;
    content->urls = 1;
    buf_init(&content->form, len);
    for (int i = 0; i < CONTENT_URLS; i++)
        buf_init(&content->url[i], URL_MAX);
}

void content_release(struct scheme_content *content)
{
    buf_release(&content->form);
    for (int i = 0; i < CONTENT_URLS; i++)
        buf_release(&content->url[i]);
}

/* The length of a URL's port with its colon, 0 without; *at: where it stands or would. */
static size_t find_port(const char *url, size_t *at)
{
    const char *host = strstr(url, "://"), *end, *c, *colon = NULL;

    host = host == NULL ? url : host + 3;
    end = host + strcspn(host, "/?#");
    for (c = host; c < end; c++) {
        if (*c == '@' || *c == ']')
            colon = NULL; /* it stood in the user's password, or in an IPv6 address */
        else if (*c == ':')
            colon = c;
    }
    *at = (size_t)((colon == NULL ? end : colon) - url);
    return colon == NULL ? 0 : (size_t)(end - colon);
}

/* The same URL without its port, or with the usual one when it has none. */
static void add_other_port(struct scheme_content *content)
{
    const char *url = content->url[0].data;
    size_t at, len = find_port(url, &at);
    struct buf *other = &content->url[content->urls++];

    buf_add(other, url, at);
    if (len == 0)
        buf_text(other, strncasecmp(url, "https:", 6) == 0 ? ":443" : ":80");
    buf_text(other, url + at + len);
}

enum status content_url(struct scheme_content *content, const struct scheme_policy *policy,
                        const char *query)
{
    const char *url = policy->url == NULL ? "" : policy->url;
    struct buf *first = &content->url[0];

    if (policy->scheme->ports && query != NULL && query[0] != '\0') {
        buf_add(first, url, strcspn(url, "?"));
        buf_format(first, "?%s", query);
    } else {
        buf_text(first, url);
    }
    if (policy->scheme->ports && !buf_failed(first))
        add_other_port(content);
    return buf_failed(first) || buf_failed(&content->url[1]) ? ST_SIG_MALFORMED : ST_OK;
}

enum status content_form(struct scheme_content *content)
{
    struct form form;
    enum status status = form_parse(content->body, content->body_len, &form);

    if (status == ST_OK)
        form_sorted(&form, &content->form);
    form_release(&form);
    return status == ST_OK && buf_failed(&content->form) ? ST_NOMEM : status;
}

/* Whether the query's digest is that of the body. ST_SIG_MISSING: it has none. */
static enum status check_body(const struct scheme *scheme, const char *query,
                              const struct scheme_content *content)
{
    unsigned char want[DIGEST_MAX], got[DIGEST_MAX];
    const struct form_text *text;
    struct form form;
    size_t len;
    enum status status = form_parse(query, strlen(query), &form);

    if (status != ST_OK)
        goto out;
    text = form_get(&form, scheme->body_param);
    status = text == NULL ? ST_SIG_MISSING
                          : digest_plain(DIGEST_SHA256, content->body, content->body_len, want);
    if (status != ST_OK)
        goto out;
    if (!decode(ENCODE_HEX, text->at, text->len, got, sizeof(got), &len) ||
        len != digest_len(DIGEST_SHA256) || !digest_equal(want, got, len))
        status = ST_SIG_BODY;
out:
    form_release(&form);
    return status;
}

/* A content without the body holds its fields, or the query holds its digest. */
static enum status cover_body(struct scheme_content *content, const struct scheme *scheme,
                              const struct http_request *request, const char *query)
{
    enum status status = check_body(scheme, query, content);

    if (status != ST_SIG_MISSING)
        return status;
    return scheme_takes_form(scheme, request) ? content_form(content) : ST_SIG_BODY;
}

enum status content_read(struct scheme_content *content, const struct scheme_policy *policy,
                         const struct scheme *scheme, const struct http_request *request)
{
    const char *query = http_param(request, "QUERY_STRING");
    enum status status;

    if (scheme->id_header != NULL) {
        content->id = http_header(request, scheme->id_header);
        if (content->id == NULL)
            return ST_SIG_MALFORMED;
    }
    status = content_url(content, policy, query);
    if (status == ST_OK && scheme->body_param != NULL)
        status = cover_body(content, scheme, request, query == NULL ? "" : query);
    return status;
}

/* Which part a text begins with; -1: none. */
static int part_at(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strncmp(text, names[i], strlen(names[i])) == 0)
            return (int)i;
    }
    return -1;
}

static struct digest_part part_value(const struct scheme_content *content, int part, int url)
{
    switch (part) {
    case TIME:
        return (struct digest_part){content->time, content->time_len};
    case ID:
        return (struct digest_part){content->id, content->id == NULL ? 0 : strlen(content->id)};
    case URL:
        return (struct digest_part){content->url[url].data, content->url[url].len};
    case FORM:
        return (struct digest_part){content->form.data, content->form.len};
    default:
        return (struct digest_part){content->body, content->body_len};
    }
}

size_t content_parts(const struct scheme *scheme, const struct scheme_content *content, int url,
                     struct digest_part parts[CONTENT_PARTS])
{
    const char *text = scheme->content;
    size_t count = 0, len;

    for (; *text != '\0' && count < CONTENT_PARTS; text += len) {
        int part = part_at(text);

        if (part >= 0) {
            parts[count++] = part_value(content, part, url);
            len = strlen(names[part]);
        } else {
            len = 1 + strcspn(text + 1, "{");
            parts[count++] = (struct digest_part){text, len};
        }
    }
    return count;
}

bool scheme_content_known(const char *text)
{
    bool body = false;
    int count = 0;
    size_t len;

    for (; *text != '\0'; text += len, count++) {
        int part = part_at(text);

        if (part < 0 && *text == '{')
            return false;
        body = body || part == BODY || part == FORM;
        len = part >= 0 ? strlen(names[part]) : strcspn(text, "{");
    }
    return body && count <= CONTENT_PARTS;
}
