#include "scheme.h"

#include "scheme_content.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SIGNATURES_MAX = 16, HEADER_MAX = 4096 };

struct verified {
    const struct scheme *scheme;
    const struct http_request *request;
    const char *body;
    size_t len;
};

/* What a request claims: when it was signed, and the signatures that could be decoded. */
struct claim {
    const char *t; /* the digits as they were signed */
    size_t t_len;
    int64_t time;
    int count;
    unsigned char mac[SIGNATURES_MAX][DIGEST_MAX];
};

/* Plain digits alone: no sign, no blank, no fraction. */
static bool plain_time(const char *text, size_t len, int64_t *out)
{
    *out = 0;
    if (len == 0 || len > 15)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *out = *out * 10 + (text[i] - '0');
    }
    return true;
}

static enum status take_time(const char *text, size_t len, struct claim *claim)
{
    if (claim->t != NULL)
        return ST_SIG_T_TWICE;
    claim->t = text;
    claim->t_len = len;
    return plain_time(text, len, &claim->time) ? ST_OK : ST_SIG_MALFORMED;
}

/* Whether a text of len bytes begins with a label. */
static bool begins(const char *text, size_t len, const char *label)
{
    return label != NULL && len >= strlen(label) && memcmp(text, label, strlen(label)) == 0;
}

/* One element of the header. Those with unknown labels are skipped, so are signatures that
 * are no digest: others beside them may be good. */
static enum status take_element(const struct scheme *scheme, const char *text, size_t len,
                                struct claim *claim)
{
    size_t label = strlen(scheme->label), got;

    if (begins(text, len, scheme->time_label))
        return take_time(text + strlen(scheme->time_label), len - strlen(scheme->time_label),
                         claim);
    if (!begins(text, len, scheme->label))
        return ST_OK;
    if (claim->count == SIGNATURES_MAX)
        return ST_SIG_MALFORMED;
    if (decode(scheme->encoding, text + label, len - label, claim->mac[claim->count], DIGEST_MAX,
               &got) &&
        got == digest_len(scheme->hash))
        claim->count++;
    return ST_OK;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Blanks round an element are no part of it (a proxy that merges two headers adds them). */
static enum status read_header(const struct scheme *scheme, const char *header, struct claim *claim)
{
    const char separators[] = {scheme->separator, '\0'};
    enum status status;

    if (strlen(header) > HEADER_MAX)
        return ST_SIG_MALFORMED;
    for (;;) {
        size_t whole = strcspn(header, separators), len = whole;
        const char *text = header;

        for (; len > 0 && blank(text[0]); len--)
            text++;
        while (len > 0 && blank(text[len - 1]))
            len--;
        status = take_element(scheme, text, len, claim);
        if (status != ST_OK)
            return status;
        if (header[whole] == '\0')
            break;
        header += whole + 1;
    }
    return ST_OK;
}

static enum status read_claim(const struct scheme *scheme, const struct http_request *request,
                              const char *header, struct claim *claim)
{
    enum status status = read_header(scheme, header, claim);
    const char *time;

    if (status == ST_OK && scheme->time_header != NULL) {
        time = http_header(request, scheme->time_header);
        status = time == NULL ? ST_SIG_MALFORMED : take_time(time, strlen(time), claim);
    }
    if (status == ST_OK &&
        (claim->count == 0 || (claim->t == NULL && scheme_signs(scheme, "{time}"))))
        status = ST_SIG_MALFORMED;
    return status;
}

/* One key against every signature, each comparison in constant time. */
static enum status match_key(const struct scheme *scheme, const struct scheme_content *content,
                             const struct claim *claim, const unsigned char *key, size_t key_len)
{
    struct digest_part parts[CONTENT_PARTS];
    unsigned char want[DIGEST_MAX];
    enum status status = ST_SIG_FORGED;
    size_t count;

    for (int url = 0; url < content->urls && status == ST_SIG_FORGED; url++) {
        count = content_parts(scheme, content, url, parts);
        if (digest_hmac(scheme->hash, key, key_len, parts, count, want) != ST_OK)
            status = ST_INTERNAL;
        for (int i = 0; i < claim->count && status != ST_INTERNAL; i++) {
            if (digest_equal(want, claim->mac[i], digest_len(scheme->hash)))
                status = ST_OK;
        }
    }
    explicit_bzero(want, sizeof(want));
    return status;
}

/* Every secret, its key made in one way; *position: the one that matched. */
static enum status match(const struct secrets *secrets, enum scheme_key form,
                         const struct scheme *scheme, const struct scheme_content *content,
                         const struct claim *claim, int *position)
{
    unsigned char room[SCHEME_SECRET_MAX];
    const unsigned char *key;
    enum status status = ST_SIG_FORGED;
    size_t len;

    for (int s = 0; s < secrets->count && status == ST_SIG_FORGED; s++) {
        key = scheme_key_of(form, secrets->of[s].text, secrets->of[s].len, room, &len);
        if (key != NULL)
            status = match_key(scheme, content, claim, key, len);
        *position = status == ST_OK ? s + 1 : 0;
    }
    explicit_bzero(room, sizeof(room));
    return status;
}

/* The header holds the secret itself. Digests are compared, so that its length does not
 * tell either. */
static enum status match_token(const struct secrets *secrets, const char *token, int *position)
{
    unsigned char want[DIGEST_MAX], got[DIGEST_MAX];
    enum status status = digest_plain(DIGEST_SHA256, token, strlen(token), got);

    if (status == ST_OK)
        status = ST_SIG_FORGED;
    for (int s = 0; s < secrets->count && status == ST_SIG_FORGED; s++) {
        if (digest_plain(DIGEST_SHA256, secrets->of[s].text, secrets->of[s].len, want) != ST_OK)
            status = ST_INTERNAL;
        else if (digest_equal(want, got, digest_len(DIGEST_SHA256)))
            status = ST_OK;
        *position = status == ST_OK ? s + 1 : 0;
    }
    return status;
}

static enum status check_time(const struct scheme_policy *policy, const struct scheme *scheme,
                              const struct claim *claim, int64_t now, struct scheme_facts *facts)
{
    facts->timed = claim->t != NULL;
    facts->age = facts->timed ? now - claim->time : 0;
    if (facts->age > policy->tolerance)
        return ST_SIG_STALE;
    /* elsewhere a future time is a slow clock of ours: signed all the same */
    return scheme->ahead && facts->age < -policy->tolerance ? ST_SIG_EARLY : ST_OK;
}

/* A request with the scheme's header. */
static enum status check(const struct scheme_policy *policy, const struct scheme *scheme,
                         const struct http_request *request, const char *header,
                         struct scheme_content *content, int64_t now, struct scheme_facts *facts)
{
    enum scheme_key key = policy->key != KEY_OF_SCHEME ? policy->key : scheme->key;
    enum scheme_key other = key == KEY_TEXT ? KEY_BASE64 : KEY_TEXT;
    struct claim claim = {.count = 0};
    enum status status;
    int ignored;

    if (scheme->content == NULL)
        return match_token(&policy->secrets, header, &facts->secret);
    status = read_claim(scheme, request, header, &claim);
    content->time = claim.t;
    content->time_len = claim.t_len;
    if (status == ST_OK)
        status = content_read(content, policy, scheme, request);
    if (status == ST_OK)
        status = match(&policy->secrets, key, scheme, content, &claim, &facts->secret);
    if (status == ST_OK)
        status = check_time(policy, scheme, &claim, now, facts);
    else if (status == ST_SIG_FORGED &&
             match(&policy->secrets, other, scheme, content, &claim, &ignored) == ST_OK)
        facts->other_key = other; /* refused all the same: the operator is told */
    return status;
}

enum status scheme_verify(const struct scheme_policy *policy, const struct http_request *request,
                          const struct buf *body, int64_t now, struct scheme_facts *facts,
                          struct verified **out)
{
    const struct scheme *scheme = policy->scheme;
    enum status status = ST_SIG_MISSING;
    struct scheme_content content;
    const char *header;

    *out = NULL;
    *facts = (struct scheme_facts){.secret = 0};
    for (; scheme != NULL && status != ST_OK; scheme = scheme->other) {
        header = http_header(request, scheme->header);
        if (header == NULL)
            continue;
        content_init(&content, body->data, body->len);
        status = check(policy, scheme, request, header, &content, now, facts);
        content_release(&content);
    }
    if (status != ST_OK)
        return status;
    *out = malloc(sizeof(**out));
    if (*out == NULL)
        return ST_NOMEM;
    **out =
        (struct verified){policy->scheme, request, body->data == NULL ? "" : body->data, body->len};
    return ST_OK;
}

bool scheme_takes_form(const struct scheme *scheme, const struct http_request *request)
{
    static const char form[] = "application/x-www-form-urlencoded";
    const char *type = http_param(request, "CONTENT_TYPE");

    return scheme->form != FORM_NONE && type != NULL && strncasecmp(type, form, strlen(form)) == 0;
}

/* Unsigned, and nothing but "name=digits". */
bool scheme_ping(const struct scheme *scheme, const struct http_request *request,
                 const struct buf *body)
{
    size_t name = scheme->ping == NULL ? 0 : strlen(scheme->ping);

    if (name == 0 || http_header(request, scheme->header) != NULL || body->len < name + 2 ||
        body->len > name + 20 || memcmp(body->data, scheme->ping, name) != 0 ||
        body->data[name] != '=')
        return false;
    return strspn(body->data + name + 1, "0123456789") == body->len - name - 1;
}

const char *verified_body(const struct verified *v)
{
    return v->body;
}

size_t verified_len(const struct verified *v)
{
    return v->len;
}

const struct scheme *verified_scheme(const struct verified *v)
{
    return v->scheme;
}

const char *verified_header(const struct verified *v, const char *name)
{
    return http_header(v->request, name);
}

bool verified_form(const struct verified *v)
{
    return scheme_takes_form(v->scheme, v->request);
}

void verified_free(struct verified *v)
{
    free(v);
}
