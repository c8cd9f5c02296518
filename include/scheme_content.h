/* scheme_content.h: what a provider signs, gathered from a request (or made for one).
 * A scheme's content is a text with parts in braces; here the parts get their values.
 * Points into the request and the body; owns what had to be built. For the scheme
 * modules alone. */
#ifndef HOOKONCE_SCHEME_CONTENT_H
#define HOOKONCE_SCHEME_CONTENT_H

#include "scheme.h"

#define CONTENT_PARTS 12
#define CONTENT_URLS  2

struct scheme_content {
    const char *time; /* the digits as they are signed */
    size_t time_len;
    const char *id;
    const void *body;
    size_t body_len;
    struct buf form;              /* the fields, sorted */
    struct buf url[CONTENT_URLS]; /* as it may have been signed */
    int urls;                     /* at least one, which may be empty */
};

void content_init(struct scheme_content *content, const void *body, size_t len);
void content_release(struct scheme_content *content);

/* Fills in the URL: the policy's, with the request's query where the scheme signs that. */
enum status content_url(struct scheme_content *content, const struct scheme_policy *policy,
                        const char *query) MUST_CHECK;
/* Fills in the fields of the body, which is a form. ST_FORM, ST_NOMEM. */
enum status content_form(struct scheme_content *content) MUST_CHECK;
/* Fills in what the request has. ST_SIG_MALFORMED without a signed id; ST_SIG_BODY. */
enum status content_read(struct scheme_content *content, const struct scheme_policy *policy,
                         const struct scheme *scheme,
                         const struct http_request *request) MUST_CHECK;

/* The pieces in their order, with the n-th URL. Returns their number. */
size_t content_parts(const struct scheme *scheme, const struct scheme_content *content, int url,
                     struct digest_part parts[CONTENT_PARTS]);

#endif
