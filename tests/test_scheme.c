#include "scheme.h"

#include "support.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS "vectors/stripe.json"

static const char body_text[] = "{\"id\":\"evt_1\",\"type\":\"invoice.paid\"}";
static const char keys[][16] = {"whsec_new", "whsec_old", "whsec_other"};

static const struct scheme *stripe(void)
{
    const struct scheme *scheme = scheme_find("stripe");

    cr_assert_not_null(scheme);
    return scheme;
}

/* "t=…,v1=…" over the body by one of the keys at a time; the caller frees it. */
static char *signature(const char *key, int64_t t)
{
    struct buf out;
    char *value;

    buf_init(&out, 1024);
    cr_assert_eq(scheme_sign(stripe(), (const unsigned char *)key, strlen(key), body_text,
                             strlen(body_text), t, &out),
                 ST_OK);
    value = strdup(out.data + strlen("Stripe-Signature: "));
    buf_release(&out);
    return value;
}

/* The v1 part of a signature. */
static const char *v1(const char *value)
{
    return strstr(value, "v1=");
}

/* Verifies the body under the first two keys at TEST_NOW. */
static enum status verify(const char *header, struct scheme_facts *facts)
{
    const struct test_var vars[] = {{"HTTP_STRIPE_SIGNATURE", header}, {NULL, NULL}};
    struct test_request r = {.vars = vars};
    struct http_request request = test_request(&r, true);
    struct secrets secrets = {.count = 0};
    struct verified *verified = NULL;
    enum status status;
    struct buf body;

    buf_init(&body, 1024);
    buf_text(&body, body_text);
    cr_assert_eq(secrets_add(&secrets, keys[0], strlen(keys[0])), ST_OK);
    cr_assert_eq(secrets_add(&secrets, keys[1], strlen(keys[1])), ST_OK);
    status = scheme_verify(stripe(), &secrets, &request, &body, TEST_NOW, 300, facts, &verified);
    cr_expect_eq(verified != NULL, status == ST_OK, "%s: %s", header, status_word(status));
    if (verified != NULL) {
        cr_expect_eq(verified_len(verified), strlen(body_text));
        cr_expect_eq((const void *)verified_body(verified), (const void *)body.data);
    }
    verified_free(verified);
    secrets_release(&secrets);
    buf_release(&body);
    return status;
}

/* Checks one header, and frees nothing. */
static void expect(const char *name, const char *header, enum status want)
{
    struct scheme_facts facts;
    enum status got = verify(header, &facts);

    cr_expect_eq(got, want, "%s: %s, not %s (%.200s)", name, status_word(got), status_word(want),
                 header == NULL ? "NULL" : header);
}

static const char *text_of(struct json_object *vector, const char *name)
{
    struct json_object *value = json_object_object_get(vector, name);

    return value == NULL ? NULL : json_object_get_string(value);
}

static int64_t number_of(struct json_object *vector, const char *name)
{
    return json_object_get_int64(json_object_object_get(vector, name));
}

/* What a provider's key is made of, as the configuration would. */
static void add_secret(struct secrets *secrets, const char *name, const char *text)
{
    struct buf key;

    cr_assert_null(scheme_key(stripe(), text, &key), VECTORS ": %s", name);
    cr_assert_eq(secrets_add(secrets, key.data, key.len), ST_OK);
    buf_wipe(&key);
}

static void check_vector(struct json_object *vector)
{
    const char *name = text_of(vector, "name");
    const struct test_var vars[] = {{"HTTP_STRIPE_SIGNATURE", text_of(vector, "header")},
                                    {NULL, NULL}};
    struct test_request r = {.vars = vars};
    struct http_request request = test_request(&r, true);
    struct json_object *list = json_object_object_get(vector, "secrets");
    bool valid = json_object_get_boolean(json_object_object_get(vector, "signature_valid"));
    struct secrets secrets = {.count = 0};
    struct scheme_facts facts;
    struct verified *verified;
    enum status got;
    struct buf body;

    for (size_t i = 0; i < json_object_array_length(list); i++)
        add_secret(&secrets, name, json_object_get_string(json_object_array_get_idx(list, i)));
    buf_init(&body, 1 << 20);
    test_base64(text_of(vector, "body_base64"), &body);
    got = scheme_verify(stripe(), &secrets, &request, &body, number_of(vector, "now"),
                        (int)number_of(vector, "tolerance"), &facts, &verified);
    cr_expect_eq(got == ST_OK, valid, "tests/" VECTORS ": %s: %s", name, status_word(got));
    cr_expect_neq(got, ST_INTERNAL, "tests/" VECTORS ": %s", name);
    cr_expect_eq(verified != NULL, valid, "tests/" VECTORS ": %s", name);
    verified_free(verified);
    secrets_release(&secrets);
    buf_release(&body);
}

/* Guards promise 5: each of the vectors is judged as the official SDK judged it. */
Test(scheme, vectors)
{
    struct json_object *file = test_json(VECTORS);
    struct json_object *cases = json_object_object_get(file, "cases");
    size_t count = json_object_array_length(cases);

    cr_expect_str_eq(text_of(file, "provider"), "stripe");
    cr_expect_geq(count, 34u, "%zu cases in tests/" VECTORS, count);
    for (size_t i = 0; i < count; i++)
        check_vector(json_object_array_get_idx(cases, i));
    json_object_put(file);
}

/* Guards promise 5: why a header is refused, and what is taken although it looks odd. */
Test(scheme, headers)
{
    static const char zeros[] =
        "v1=0000000000000000000000000000000000000000000000000000000000000000";
    char *good = signature(keys[0], TEST_NOW);
    const struct {
        const char *name, *format; /* %1$s: the mac, %2$s: a mac of zeros */
        enum status status;
    } cases[] = {
        {"plain", "t=1767225600,%1$s", ST_OK},
        {"the other way round", "%1$s,t=1767225600", ST_OK},
        {"a wrong one first", "t=1767225600,%2$s,%1$s", ST_OK},
        {"a wrong one last", "t=1767225600,%1$s,%2$s", ST_OK},
        {"only a wrong one", "t=1767225600,%2$s", ST_SIG_FORGED},
        {"t twice, alike", "t=1767225600,t=1767225600,%1$s", ST_SIG_T_TWICE},
        {"t twice, the first good", "t=1767225600,%1$s,t=1", ST_SIG_T_TWICE},
        {"t twice, the last good", "t=1,t=1767225600,%1$s", ST_SIG_T_TWICE},
        {"two headers merged", "t=1767225600,%1$s, t=1767225600,%1$s", ST_SIG_T_TWICE},
        {"blanks round elements", " t=1767225600 , \t%1$s\t ", ST_OK},
        {"blanks within t", "t= 1767225600,%1$s", ST_SIG_MALFORMED},
        {"blanks within v1", "t=1767225600,v1= 0,%1$s", ST_OK},
        {"blanks round the equals sign", "t =1767225600,%1$s", ST_SIG_MALFORMED},
        {"empty elements", ",,t=1767225600,,%1$s,", ST_OK},
        {"an element without a value", "t=1767225600,v1,%1$s", ST_OK},
        {"an empty v1", "t=1767225600,v1=,%1$s", ST_OK},
        {"an undecodable v1", "t=1767225600,v1=zz,%1$s", ST_OK},
        {"only an undecodable v1", "t=1767225600,v1=zz", ST_SIG_MALFORMED},
        {"v0 beside it", "t=1767225600,v0=00,%1$s", ST_OK},
        {"an unknown scheme", "t=1767225600,v2=00,v11=00,%1$s", ST_OK},
        {"a name that t begins", "ts=5,t=1767225600,%1$s", ST_OK},
        {"a name in capitals", "T=1767225600,%1$s", ST_SIG_MALFORMED},
        {"an equals sign behind it", "t=1767225600,%1$s=", ST_SIG_MALFORMED},
        {"t signed with a plus", "t=+1767225600,%1$s", ST_SIG_MALFORMED},
        {"t negative", "t=-1767225600,%1$s", ST_SIG_MALFORMED},
        {"t with a fraction", "t=1767225600.0,%1$s", ST_SIG_MALFORMED},
        {"t with an exponent", "t=1767225600e0,%1$s", ST_SIG_MALFORMED},
        {"t in hex", "t=0x69550000,%1$s", ST_SIG_MALFORMED},
        {"t empty", "t=,%1$s", ST_SIG_MALFORMED},
        {"t of 15 digits", "t=176722560000000,%1$s", ST_SIG_FORGED},
        {"t of 16 digits", "t=1767225600000000,%1$s", ST_SIG_MALFORMED},
        {"t with a zero before it", "t=01767225600,%1$s", ST_SIG_FORGED},
        {"only t", "t=1767225600", ST_SIG_MALFORMED},
        {"only v1", "%1$s", ST_SIG_MALFORMED},
        {"parted by semicolons", "t=1767225600;%1$s", ST_SIG_MALFORMED},
        {"a blank alone", " ", ST_SIG_MALFORMED},
        {"empty", "", ST_SIG_MISSING},
    };
    char header[512];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *with[] = {v1(good), zeros};
        char *to = header;

        for (const char *c = cases[i].format; *c != '\0'; c++) {
            if (*c == '%') {
                to = stpcpy(to, with[c[1] - '1']);
                c += 3;
            } else {
                *to++ = *c;
            }
        }
        *to = '\0';
        expect(cases[i].name, header, cases[i].status);
    }
    expect("absent", NULL, ST_SIG_MISSING);
    free(good);
}

/* Guards that sixteen signatures are tried, and a header of more is refused. */
Test(scheme, many_signatures)
{
    static const char wrong[] =
        ",v1=1111111111111111111111111111111111111111111111111111111111111111";
    char *good = signature(keys[0], TEST_NOW), header[4096];

    for (int before = 14; before <= 17; before++) {
        char *to = stpcpy(header, "t=1767225600");

        for (int i = 0; i < before; i++)
            to = stpcpy(to, wrong);
        *to++ = ',';
        strcpy(to, v1(good));
        expect("wrong ones, then a good one", header, before < 16 ? ST_OK : ST_SIG_MALFORMED);
    }
    free(good);
}

/* Guards that a long header costs nothing: 4096 bytes are read, a longer one is refused. */
Test(scheme, long_header)
{
    char *good = signature(keys[0], TEST_NOW), header[5000];
    size_t len = strlen(good);

    for (size_t whole = 4090; whole <= 4100; whole++) {
        memset(header, ',', whole);
        memcpy(header + whole - len, good, len + 1);
        expect("filled up with commas", header, whole <= 4096 ? ST_OK : ST_SIG_MALFORMED);
    }
    free(good);
}

/* Guards the window: old is stale, the future is taken, and the age is told both times. */
Test(scheme, age)
{
    static const struct {
        int64_t age;
        enum status status;
    } cases[] = {
        {0, ST_OK},
        {1, ST_OK},
        {299, ST_OK},
        {300, ST_OK},
        {-1, ST_OK},
        {-300, ST_OK},
        {-301, ST_OK},
        {-86400 * 365, ST_OK},
        {301, ST_SIG_STALE},
        {86400, ST_SIG_STALE},
        {TEST_NOW, ST_SIG_STALE},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *header = signature(keys[1], TEST_NOW - cases[i].age);
        struct scheme_facts facts;
        enum status got = verify(header, &facts);

        cr_expect_eq(got, cases[i].status, "age %" PRId64 ": %s", cases[i].age, status_word(got));
        cr_expect_eq(facts.age, cases[i].age, "age %" PRId64 ": %" PRId64, cases[i].age, facts.age);
        cr_expect_eq(facts.secret, 2, "age %" PRId64 ": secret %d", cases[i].age, facts.secret);
        free(header);
    }
}

/* Guards promise 5: an old signature that is forged is forged, and tells nothing. */
Test(scheme, forged_comes_before_stale)
{
    char *header = signature(keys[2], TEST_NOW - 100000);
    struct scheme_facts facts = {5, 5};

    cr_expect_eq(verify(header, &facts), ST_SIG_FORGED);
    cr_expect_eq(facts.secret, 0);
    cr_expect_eq(facts.age, 0);
    free(header);
}

/* Guards rotation: each secret is tried, and the one that matched is told. */
Test(scheme, names_the_secret)
{
    for (int i = 0; i < (int)ARRAY_LEN(keys); i++) {
        char *header = signature(keys[i], TEST_NOW);
        struct scheme_facts facts;
        enum status got = verify(header, &facts);

        cr_expect_eq(got, i < 2 ? ST_OK : ST_SIG_FORGED, "%s: %s", keys[i], status_word(got));
        cr_expect_eq(facts.secret, i < 2 ? i + 1 : 0, "%s: %d", keys[i], facts.secret);
        free(header);
    }
}

/* Guards that no secret at all lets nobody in. */
Test(scheme, no_secret_matches_nothing)
{
    char *header = signature("x", TEST_NOW);
    const struct test_var vars[] = {{"HTTP_STRIPE_SIGNATURE", header}, {NULL, NULL}};
    struct test_request r = {.vars = vars};
    struct http_request request = test_request(&r, true);
    struct secrets none = {.count = 0};
    struct buf body = {.data = NULL};
    struct scheme_facts facts;
    struct verified *verified;

    cr_expect_eq(scheme_verify(stripe(), &none, &request, &body, TEST_NOW, 300, &facts, &verified),
                 ST_SIG_FORGED);
    cr_expect_null(verified);
    free(header);
}

/* Guards what a sender writes: the header's form, and that it verifies over any bytes. */
Test(scheme, signs)
{
    static const struct {
        const char *body;
        size_t len;
    } bodies[] = {{"", 0}, {"{}", 2}, {"a\0b", 3}, {"\xff\xfe\r\n", 4}};
    char *header = signature(keys[0], 12);

    cr_expect_eq(strncmp(header, "t=12,v1=", 8), 0, "%s", header);
    cr_expect_eq(strlen(header), 8u + 64u, "%s", header);
    free(header);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct test_signed s;

        test_sign(&s, bodies[i].body, bodies[i].len);
        cr_expect_eq(verified_len(s.verified), bodies[i].len, "body %zu", i);
        test_signed_release(&s);
    }
}

/* Guards that a header that does not fit is no half header. */
Test(scheme, sign_without_room)
{
    struct buf out;

    buf_init(&out, 20);
    cr_expect_eq(scheme_sign(stripe(), (const unsigned char *)"k", 1, "x", 1, 1, &out), ST_NOMEM);
    cr_expect_eq(out.len, 0u);
    buf_release(&out);
}

/* Guards that a secret pasted with a line end is still the key, the whole of its text. */
Test(scheme, key_is_trimmed)
{
    static const struct {
        const char *secret, *key;
    } cases[] = {
        {"whsec_abc", "whsec_abc"},
        {"whsec_abc\n", "whsec_abc"},
        {"whsec_abc\r\n", "whsec_abc"},
        {"whsec_abc \t ", "whsec_abc"},
        {"abc\n\n\n", "abc"},
        {"k", "k"},
        {"v1", "v1"},
        {"a,v1,b", "a,v1,b"},
        {"!\"#=;", "!\"#=;"},
    };
    struct buf key;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *wrong = scheme_key(stripe(), cases[i].secret, &key);

        cr_expect_null(wrong, "case %zu: %s", i, wrong);
        cr_expect(key.len == strlen(cases[i].key) && strcmp(key.data, cases[i].key) == 0,
                  "case %zu: %s", i, key.data);
        buf_wipe(&key);
    }
}

/* Guards promise 5: what is no secret never becomes a key, and is not quoted. */
Test(scheme, key_is_refused)
{
    static const char *const bad[] = {
        "",      " ",        "\n",         "\r\n\t ",     "v1,whsec_abc", "v0,abc",  "v1,",
        "ab cd", "ab\ncd\n", " whsec_abc", "\twhsec_abc", "whsec_a\x01z", "ab\x7fz",
    };
    static char longest[5000];
    struct buf key;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *wrong = scheme_key(stripe(), bad[i], &key);

        cr_expect_not_null(wrong, "case %zu was taken", i);
        cr_expect(wrong == NULL || (strstr(wrong, "whsec") == NULL && strstr(wrong, "ab") == NULL),
                  "case %zu: %s", i, wrong);
        buf_wipe(&key);
    }
    memset(longest, 'k', 4096);
    cr_expect_null(scheme_key(stripe(), longest, &key));
    buf_wipe(&key);
    longest[4096] = 'k';
    cr_expect_not_null(scheme_key(stripe(), longest, &key));
    buf_wipe(&key);
}

/* Guards the table: names are exact, and can be listed. */
Test(scheme, table)
{
    const char *name;
    size_t count = 0;

    cr_expect_null(scheme_find(""));
    cr_expect_null(scheme_find("Stripe"));
    cr_expect_null(scheme_find("stripes"));
    cr_expect_null(scheme_find("strip"));
    for (; (name = scheme_name(count)) != NULL; count++) {
        cr_assert_not_null(scheme_find(name), "%s", name);
        cr_expect_str_eq(scheme_provider(scheme_find(name)), name);
        cr_expect_gt(scheme_tolerance(scheme_find(name)), 0, "%s", name);
    }
    cr_expect_geq(count, 1u);
    cr_expect_null(scheme_name(count + 1));
    cr_expect_eq(scheme_tolerance(stripe()), 300);
}
