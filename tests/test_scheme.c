#include "scheme.h"

#include "support.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <inttypes.h>
#include <json-c/json_object_iterator.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char body_text[] = "{\"id\":\"evt_1\",\"type\":\"invoice.paid\"}";
static const char keys[][16] = {"whsec_new", "whsec_old", "whsec_other"};

/* "t=…,v1=…" over the body by one of the keys at a time; the caller frees it. */
static char *signature(const char *key, int64_t t)
{
    struct scheme_policy policy;
    const struct scheme_signing signing = {
        .policy = &policy, .body = body_text, .len = strlen(body_text), .time = t};
    struct buf url = {.data = NULL}, out;
    char *value;

    test_policy(&policy, "stripe", key);
    buf_init(&out, 1024);
    cr_assert_eq(scheme_sign(&signing, &url, &out), ST_OK);
    value = strdup(out.data + strlen("Stripe-Signature: "));
    value[strcspn(value, "\n")] = '\0';
    buf_release(&out);
    secrets_release(&policy.secrets);
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
    struct scheme_policy policy;
    struct verified *verified = NULL;
    enum status status;
    struct buf body;

    buf_init(&body, 1024);
    buf_text(&body, body_text);
    test_policy(&policy, "stripe", keys[0]);
    cr_assert_null(scheme_secret(&policy, keys[1]));
    status = scheme_verify(&policy, &request, &body, TEST_NOW, facts, &verified);
    cr_expect_eq(verified != NULL, status == ST_OK, "%s: %s", header, status_word(status));
    if (verified != NULL) {
        cr_expect_eq(verified_len(verified), strlen(body_text));
        cr_expect_eq((const void *)verified_body(verified), (const void *)body.data);
    }
    verified_free(verified);
    secrets_release(&policy.secrets);
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

enum { VARS_MAX = 16 };

/* The request's variables of a vector; names are put into store. */
static void vector_vars(struct json_object *vector, struct test_var vars[VARS_MAX],
                        char store[VARS_MAX][64])
{
    struct json_object *headers = json_object_object_get(vector, "headers");
    size_t n = 0;

    vars[n++] = (struct test_var){"HTTP_STRIPE_SIGNATURE", text_of(vector, "header")};
    vars[n++] = (struct test_var){"QUERY_STRING", text_of(vector, "query")};
    vars[n++] = (struct test_var){"CONTENT_TYPE", text_of(vector, "content_type")};
    if (headers == NULL)
        headers = vector; /* none of its members is a header that a scheme asks for */
    struct json_object_iterator at = json_object_iter_begin(headers);
    struct json_object_iterator end = json_object_iter_end(headers);

    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        snprintf(store[n], sizeof(store[n]), "HTTP_%s", json_object_iter_peek_name(&at));
        for (char *c = store[n]; *c != '\0'; c++)
            *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
        vars[n].name = store[n];
        vars[n].value = json_object_get_string(json_object_iter_peek_value(&at));
        n++;
    }
    vars[n] = (struct test_var){NULL, NULL};
}

static void check_vector(const char *file, const char *provider, struct json_object *vector)
{
    const char *name = text_of(vector, "name");
    struct json_object *list = json_object_object_get(vector, "secrets");
    bool valid = json_object_get_boolean(json_object_object_get(vector, "signature_valid"));
    char store[VARS_MAX][64];
    struct test_var vars[VARS_MAX];
    struct test_request r = {.vars = vars};
    struct http_request request = test_request(&r, true);
    struct scheme_policy policy;
    struct scheme_facts facts;
    struct verified *verified;
    enum status got;
    struct buf body;

    vector_vars(vector, vars, store);
    test_policy(&policy, provider, json_object_get_string(json_object_array_get_idx(list, 0)));
    for (size_t i = 1; i < json_object_array_length(list); i++)
        cr_assert_null(
            scheme_secret(&policy, json_object_get_string(json_object_array_get_idx(list, i))));
    policy.url = text_of(vector, "url");
    if (json_object_object_get(vector, "tolerance") != NULL)
        policy.tolerance = (int)number_of(vector, "tolerance");
    buf_init(&body, 1 << 20);
    test_base64(text_of(vector, "body_base64"), &body);
    got = scheme_verify(&policy, &request, &body, number_of(vector, "now"), &facts, &verified);
    cr_expect_eq(got == ST_OK, valid, "%s: %s: %s", file, name, status_word(got));
    cr_expect_neq(got, ST_INTERNAL, "%s: %s", file, name);
    cr_expect_eq(verified != NULL, valid, "%s: %s", file, name);
    verified_free(verified);
    secrets_release(&policy.secrets);
    buf_release(&body);
}

static size_t vectors;

static void check_file(const char *name)
{
    struct json_object *file = test_json(name);
    struct json_object *cases = json_object_object_get(file, "cases");

    vectors += json_object_array_length(cases);
    for (size_t i = 0; i < json_object_array_length(cases); i++)
        check_vector(name, text_of(file, "provider"), json_object_array_get_idx(cases, i));
    json_object_put(file);
}

/* Guards promise 5: each of the vectors is judged as the provider's own SDK judged it. */
Test(scheme, vectors)
{
    cr_expect_geq(test_each_json("vectors", check_file), 8);
    cr_expect_geq(vectors, 108u, "%zu cases below tests/vectors", vectors);
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
    struct scheme_facts facts = {.secret = 5, .age = 5};

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
    const struct scheme_policy none = {.scheme = scheme_find("stripe"), .tolerance = 300};
    struct buf body = {.data = NULL};
    struct scheme_facts facts;
    struct verified *verified;

    cr_expect_eq(scheme_verify(&none, &request, &body, TEST_NOW, &facts, &verified), ST_SIG_FORGED);
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
    struct scheme_policy policy;
    const struct scheme_signing signing = {.policy = &policy, .body = "x", .len = 1, .time = 1};
    struct buf url = {.data = NULL}, out;

    test_policy(&policy, "stripe", "k");
    buf_init(&out, 20);
    cr_expect_eq(scheme_sign(&signing, &url, &out), ST_NOMEM);
    buf_release(&out);
    secrets_release(&policy.secrets);
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
    struct scheme_policy policy;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        test_policy(&policy, "stripe", cases[i].secret);
        cr_expect(policy.secrets.of[0].len == strlen(cases[i].key) &&
                      memcmp(policy.secrets.of[0].text, cases[i].key, strlen(cases[i].key)) == 0,
                  "case %zu", i);
        secrets_release(&policy.secrets);
    }
}

/* Guards promise 5: what is no secret never becomes a key, and is not quoted. */
Test(scheme, key_is_refused)
{
    static const char *const bad[] = {
        "",       " ",          "\n",         "\r\n\t ",     "v1,whsec_abc", "v0,abc",
        "v1,",    "ab\ncd\n",   " whsec_abc", "\twhsec_abc", "whsec_a\x01z", "ab\x7fz",
        "\"ab\"", "whsec_a bc", " ab",
    };
    static char longest[SCHEME_SECRET_MAX + 2];
    struct scheme_policy policy = {.scheme = scheme_find("stripe")};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *wrong = scheme_secret(&policy, bad[i]);

        cr_expect_not_null(wrong, "case %zu was taken", i);
        cr_expect(wrong == NULL ||
                      (strstr(wrong, "whsec_a") == NULL && strstr(wrong, "ab") == NULL),
                  "case %zu: %s", i, wrong);
    }
    memset(longest, 'k', SCHEME_SECRET_MAX);
    cr_expect_null(scheme_secret(&policy, longest));
    longest[SCHEME_SECRET_MAX] = 'k';
    cr_expect_not_null(scheme_secret(&policy, longest));
    secrets_release(&policy.secrets);
}

/* Guards that a key in base64 is one, whole, and that GitLab may have either form. */
Test(scheme, encoded_keys)
{
    static const struct {
        const char *provider, *secret;
        bool good;
    } cases[] = {
        {"standard-webhooks", "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH", true},
        {"standard-webhooks", "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH", true},
        {"standard-webhooks", "whsec_CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=", true},
        {"standard-webhooks", "whsec_CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk", false},
        {"standard-webhooks", "whsec_", false},
        {"standard-webhooks", "whsec_====", false},
        {"standard-webhooks", "whsec_B-cH", false},
        {"standard-webhooks", "whsec_BwcHB", false},
        {"standard-webhooks", "whsec_BwR=", false}, /* loose bits at the end */
        {"gitlab", "a plain token", true},
        {"gitlab", "whsec_BwcH", true},
        {"gitlab", "whsec_Bw!H", false},
        {"github", "It's a Secret to Everybody", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scheme_policy policy = {.scheme = scheme_find(cases[i].provider)};
        const char *wrong = scheme_secret(&policy, cases[i].secret);

        cr_expect_eq(wrong == NULL, cases[i].good, "%s %s: %s", cases[i].provider, cases[i].secret,
                     wrong);
        secrets_release(&policy.secrets);
    }
}

/* Guards R221: the key may be the text or what it encodes, and a mix-up is named. */
Test(scheme, key_of_the_other_kind)
{
    static const char secret[] = "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH";
    const enum scheme_key kinds[] = {KEY_TEXT, KEY_BASE64};

    for (size_t signer = 0; signer < 2; signer++) {
        for (size_t reader = 0; reader < 2; reader++) {
            struct scheme_policy policy;
            struct scheme_signing signing = {
                .policy = &policy, .body = "{}", .len = 2, .time = TEST_NOW, .id = "msg_1"};
            struct test_var vars[] = {{"HTTP_WEBHOOK_SIGNATURE", NULL},
                                      {"HTTP_WEBHOOK_ID", "msg_1"},
                                      {"HTTP_WEBHOOK_TIMESTAMP", "1767225600"},
                                      {NULL, NULL}};
            struct test_request r = {.vars = vars};
            struct http_request request = test_request(&r, true);
            struct buf url = {.data = NULL}, lines, body;
            struct scheme_facts facts;
            struct verified *verified;
            enum status got;

            test_policy(&policy, "standard-webhooks", secret);
            policy.key = kinds[signer];
            buf_init(&lines, 1024);
            buf_init(&body, 2);
            buf_text(&body, "{}");
            cr_assert_eq(scheme_sign(&signing, &url, &lines), ST_OK);
            vars[0].value = strtok(lines.data, "\n") + strlen("webhook-signature: ");
            policy.key = kinds[reader];
            got = scheme_verify(&policy, &request, &body, TEST_NOW, &facts, &verified);
            cr_expect_eq(got, signer == reader ? ST_OK : ST_SIG_FORGED, "%zu %zu: %s", signer,
                         reader, status_word(got));
            cr_expect_eq(facts.other_key, signer == reader ? KEY_OF_SCHEME : kinds[signer]);
            verified_free(verified);
            buf_release(&lines);
            buf_release(&body);
            secrets_release(&policy.secrets);
        }
    }
}

/* Guards the table: names are exact, can be listed, and each row is whole. */
Test(scheme, table)
{
    const struct scheme *scheme;
    size_t count = 0;

    cr_expect_null(scheme_find(""));
    cr_expect_null(scheme_find("Stripe"));
    cr_expect_null(scheme_find("stripes"));
    cr_expect_null(scheme_find("strip"));
    for (; (scheme = scheme_at(count)) != NULL; count++) {
        const char *name = scheme->provider;

        cr_expect_eq(scheme_find(name), scheme, "%s", name);
        cr_expect_not_null(strstr(scheme_unknown, name), "%s", name);
        cr_expect(scheme->content == NULL || scheme_content_known(scheme->content), "%s", name);
        if (strcmp(name, "hmac") == 0)
            continue; /* the configuration's to fill */
        cr_expect_not_null(scheme->header, "%s", name);
        cr_expect_not_null(scheme->id[0].where, "%s", name);
        cr_expect_not_null(scheme->type[0].where, "%s", name);
        cr_expect_eq(scheme->tolerance > 0, scheme_signs(scheme, "{time}"), "%s", name);
        cr_expect_eq(scheme_signs(scheme, "{id}"), scheme->id_header != NULL, "%s", name);
    }
    cr_expect_eq(count, 13u);
}
