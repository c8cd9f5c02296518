/* support.h: what the unit tests share: files, base64, a request without a transport,
 * and a way to a struct verified, which scheme_verify alone can make.
 * Whatever cannot be had ends the test that asked for it, with its name. */
#ifndef HOOKONCE_TEST_SUPPORT_H
#define HOOKONCE_TEST_SUPPORT_H

#include "buf.h"
#include "http.h"
#include "scheme.h"
#include "scheme_sign.h"
#include <json-c/json_object.h>
#include <stddef.h>
#include <stdint.h>

#define TEST_SECRET "whsec_unit_test"
#define TEST_NOW    INT64_C(1767225600)

/* A file under tests/, found from the root or from any folder below it. The name is
 * that below tests/: "vectors/stripe.json". Valid until the next call. */
const char *test_path(const char *name);
/* A whole file under tests/. The caller releases out. */
void test_read(const char *name, struct buf *out);
/* A JSON file under tests/; the caller puts it. */
struct json_object *test_json(const char *name);
/* Appends the bytes to out, which must be initialised. */
void test_base64(const char *text, struct buf *out);
/* Calls one for every file below tests/NAME that ends in .json, by its name below tests/.
 * Returns how many there were. */
int test_each_json(const char *name, void (*one)(const char *name));

/* A variable of a request; a table of them ends with a row without a name. */
struct test_var {
    const char *name;
    const char *value;
};

/* A request's bytes, and how they come. The caller fills the first group. */
struct test_request {
    const struct test_var *vars; /* NULL: none */
    const void *body;
    size_t len;
    size_t chunk; /* most bytes a read gives; 0: all that are asked for */
    ssize_t ends; /* what a read gives behind the body: 0, -1 or -2 */

    size_t at;    /* bytes read so far */
    size_t reads; /* calls of read so far */
};
/* The request over it, for as long as the struct lives. */
struct http_request test_request(struct test_request *r, bool body_ends);

/* A provider's policy with one secret; its secrets are the caller's to release. */
void test_policy(struct scheme_policy *policy, const char *provider, const char *secret);

/* A body that was signed by TEST_SECRET and verified. */
struct test_signed {
    struct test_request request;
    struct http_request http;
    struct buf header;
    struct buf body;
    struct verified *verified;
};
void test_sign(struct test_signed *s, const void *body, size_t len);
void test_signed_release(struct test_signed *s);

#endif
