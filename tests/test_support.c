#include "support.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <json-c/json_tokener.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 16 << 20, PATH_LEN = 1024 };

const char *test_path(const char *name)
{
    static const char *const up[] = {"", "../", "../../", "../../../"};
    static char path[PATH_LEN];

    for (size_t i = 0; i < ARRAY_LEN(up); i++) {
        snprintf(path, sizeof(path), "%stests/%s", up[i], name);
        if (access(path, F_OK) == 0)
            return path;
    }
    cr_assert_fail("tests/%s: not found from here; run the tests in the root", name);
    return NULL;
}

void test_read(const char *name, struct buf *out)
{
    const char *path = test_path(name);
    FILE *file = fopen(path, "rb");
    size_t got;
    char *to;

    cr_assert_not_null(file, "%s: %s", path, strerror(errno));
    buf_init(out, FILE_MAX);
    while ((to = buf_space(out, 65536)) != NULL) {
        got = fread(to, 1, 65536, file);
        buf_grew(out, got);
        if (got == 0)
            break;
    }
    cr_assert(ferror(file) == 0 && !buf_failed(out), "%s: not read", path);
    fclose(file);
}

struct json_object *test_json(const char *name)
{
    struct json_object *json;
    struct buf text;

    test_read(name, &text);
    json = json_tokener_parse(text.data);
    cr_assert_not_null(json, "tests/%s: not JSON", name);
    buf_release(&text);
    return json;
}

void test_base64(const char *text, struct buf *out)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0;
    int have = 0;

    for (; *text != '\0' && *text != '='; text++) {
        const char *digit = strchr(alphabet, *text);
        char byte;

        cr_assert_not_null(digit, "not base64: %s", text);
        bits = (bits << 6 | (unsigned)(digit - alphabet)) & 0xffff;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        byte = (char)(bits >> have & 0xff);
        buf_add(out, &byte, 1);
    }
    cr_assert(!buf_failed(out), "no room for base64");
}

static bool ends_with(const char *name, const char *with)
{
    size_t len = strlen(name), with_len = strlen(with);

    return len > with_len && strcmp(name + len - with_len, with) == 0;
}

int test_each_json(const char *name, void (*one)(const char *name))
{
    DIR *dir = opendir(test_path(name));
    struct dirent *entry;
    char below[PATH_LEN];
    int count = 0;

    cr_assert_not_null(dir, "tests/%s: %s", name, strerror(errno));
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(below, sizeof(below), "%s/%s", name, entry->d_name);
        if (entry->d_type == DT_DIR) {
            count += test_each_json(below, one);
        } else if (ends_with(below, ".json")) {
            one(below);
            count++;
        }
    }
    closedir(dir);
    return count;
}

static const char *request_param(void *io, const char *name)
{
    const struct test_request *r = io;

    for (const struct test_var *v = r->vars; v != NULL && v->name != NULL; v++) {
        if (strcmp(v->name, name) == 0)
            return v->value;
    }
    return NULL;
}

static ssize_t request_read(void *io, void *to, size_t len)
{
    struct test_request *r = io;
    size_t left = r->len - r->at;

    r->reads++;
    if (left == 0)
        return r->ends;
    if (len > left)
        len = left;
    if (r->chunk > 0 && len > r->chunk)
        len = r->chunk;
    memcpy(to, (const char *)r->body + r->at, len);
    r->at += len;
    return (ssize_t)len;
}

struct http_request test_request(struct test_request *r, bool body_ends)
{
    r->at = r->reads = 0;
    return (struct http_request){r, request_param, request_read, body_ends};
}

void test_policy(struct scheme_policy *policy, const char *provider, const char *secret)
{
    const char *wrong;

    *policy = (struct scheme_policy){.scheme = scheme_find(provider)};
    cr_assert_not_null(policy->scheme, "%s", provider);
    policy->tolerance = scheme_tolerance(policy->scheme);
    wrong = scheme_secret(policy, secret);
    cr_assert_null(wrong, "%s: %s %s", provider, secret, wrong);
}

void test_sign(struct test_signed *s, const void *body, size_t len)
{
    static const char name[] = "Stripe-Signature: ";
    struct test_var vars[] = {{"HTTP_STRIPE_SIGNATURE", NULL}, {NULL, NULL}};
    struct scheme_policy policy;
    const struct scheme_signing signing = {
        .policy = &policy, .body = body, .len = len, .time = TEST_NOW};
    struct scheme_facts facts;
    struct buf url = {.data = NULL}, *lines = &s->header;

    test_policy(&policy, "stripe", TEST_SECRET);
    s->request = (struct test_request){.vars = vars};
    s->http = test_request(&s->request, true);
    buf_init(&s->body, FILE_MAX);
    buf_add(&s->body, body, len);
    buf_init(lines, 1024);
    cr_assert_eq(scheme_sign(&signing, &url, lines), ST_OK);
    cr_assert_eq(strncmp(lines->data, name, strlen(name)), 0, "%s", lines->data);
    lines->data[strcspn(lines->data, "\n")] = '\0';
    vars[0].value = lines->data + strlen(name);
    cr_assert_eq(scheme_verify(&policy, &s->http, &s->body, TEST_NOW, &facts, &s->verified), ST_OK,
                 "a body of %zu bytes could not be signed and verified", len);
    s->request.vars = NULL; /* vars ends here */
    secrets_release(&policy.secrets);
}

void test_signed_release(struct test_signed *s)
{
    verified_free(s->verified);
    buf_release(&s->body);
    buf_release(&s->header);
    s->verified = NULL;
}
