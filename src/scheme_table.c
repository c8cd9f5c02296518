/* The providers, a row each. Read in their documentation and their SDKs. */
#include "scheme.h"

#include <string.h>

/* The same by the older names of its headers. */
static const struct scheme svix = {
    .provider = "standard-webhooks",
    .header = "svix-signature",
    .separator = ' ',
    .label = "v1,",
    .encoding = ENCODE_BASE64,
    .content = "{id}.{time}.{body}",
    .key = KEY_BASE64,
    .id_header = "svix-id",
    .time_header = "svix-timestamp",
    .tolerance = 300,
    .ahead = true,
};

/* GitLab's signing token, since 18: a secret that begins with whsec_. */
static const struct scheme gitlab_signed = {
    .provider = "gitlab",
    .header = "webhook-signature",
    .separator = ' ',
    .label = "v1,",
    .encoding = ENCODE_BASE64,
    .content = "{id}.{time}.{body}",
    .key = KEY_BASE64,
    .id_header = "webhook-id",
    .time_header = "webhook-timestamp",
    .tolerance = 300,
    .ahead = true,
};

static const struct scheme table[] = {
    /* Stripe: the official SDKs bound the past alone (tests/vectors/stripe.json). */
    {
        .provider = "stripe",
        .header = "Stripe-Signature",
        .separator = ',',
        .label = "v1=",
        .time_label = "t=",
        .content = "{time}.{body}",
        .key = KEY_TEXT,
        .tolerance = 300,
        .id = {{"body:id", NULL}},
        .type = {{"body:type", NULL}},
        .circumstances = true,
    },
    /* Standard Webhooks 1.0: the id is signed. v1a, an ed25519 signature, is skipped. */
    {
        .provider = "standard-webhooks",
        .header = "webhook-signature",
        .separator = ' ',
        .label = "v1,",
        .encoding = ENCODE_BASE64,
        .content = "{id}.{time}.{body}",
        .key = KEY_BASE64,
        .id_header = "webhook-id",
        .time_header = "webhook-timestamp",
        .tolerance = 300,
        .ahead = true,
        .id = {{"header:webhook-id", NULL}, {"header:svix-id", NULL}},
        .type = {{"body:type", NULL}, {"body:event_type", NULL}, {"body:eventType", NULL}},
        .other = &svix,
    },
    /* GitHub: X-GitHub-Delivery stays the same when a delivery is sent again. */
    {
        .provider = "github",
        .header = "X-Hub-Signature-256",
        .label = "sha256=",
        .content = "{body}",
        .key = KEY_TEXT,
        .id = {{"header:X-GitHub-Delivery", NULL}},
        .type = {{"header:X-GitHub-Event", NULL}},
        .form = FORM_PAYLOAD,
    },
    /* GitLab: the secret itself, or the signing token. Idempotency-Key (since 17.4) stays
     * the same over retries; a recursive hook repeats the older X-Gitlab-Event-UUID. */
    {
        .provider = "gitlab",
        .header = "X-Gitlab-Token",
        .label = "",
        .key = KEY_TEXT,
        .id = {{"header:webhook-id", NULL},
               {"header:Idempotency-Key", NULL},
               {"header:X-Gitlab-Event-UUID", NULL}},
        .type = {{"header:X-Gitlab-Event", NULL}},
        .other = &gitlab_signed,
    },
    /* Shopify: one event id may come under several topics, each of which is an event here. */
    {
        .provider = "shopify",
        .header = "X-Shopify-Hmac-SHA256",
        .label = "",
        .encoding = ENCODE_BASE64,
        .content = "{body}",
        .key = KEY_TEXT,
        .id = {{"header:X-Shopify-Event-Id", NULL}, {"header:X-Shopify-Webhook-Id", NULL}},
        .type = {{"header:X-Shopify-Topic", NULL}},
        .id_and_type = true,
    },
    /* Slack: events, and as forms commands (fields) and interactions (payload). */
    {
        .provider = "slack",
        .header = "X-Slack-Signature",
        .label = "v0=",
        .time_header = "X-Slack-Request-Timestamp",
        .content = "v0:{time}:{body}",
        .key = KEY_TEXT,
        .tolerance = 300,
        .ahead = true,
        .id = {{"body:event_id", NULL}, {"body:trigger_id", NULL}, {"digest", NULL}},
        .type = {{"body:event.type", NULL}, {"body:type", NULL}, {"body:command", NULL}},
        .form = FORM_EITHER,
        .question = "url_verification",
        .answer = "challenge",
    },
    {
        .provider = "square",
        .header = "x-square-hmacsha256-signature",
        .label = "",
        .encoding = ENCODE_BASE64,
        .content = "{url}{body}",
        .key = KEY_TEXT,
        .id = {{"body:event_id", NULL}},
        .type = {{"body:type", NULL}},
    },
    /* Paddle Billing: 5 seconds are its SDK's tolerance. */
    {
        .provider = "paddle",
        .header = "Paddle-Signature",
        .separator = ';',
        .label = "h1=",
        .time_label = "ts=",
        .content = "{time}:{body}",
        .key = KEY_TEXT,
        .tolerance = 5,
        .id = {{"body:event_id", NULL}},
        .type = {{"body:event_type", NULL}},
    },
    /* Lemon Squeezy has no id. The body's name of the event is signed, the header's is not. */
    {
        .provider = "lemonsqueezy",
        .header = "X-Signature",
        .label = "",
        .content = "{body}",
        .key = KEY_TEXT,
        .id = {{"digest", NULL}},
        .type = {{"body:meta.event_name", NULL}, {"header:X-Event-Name", NULL}},
    },
    {
        .provider = "razorpay",
        .header = "X-Razorpay-Signature",
        .label = "",
        .content = "{body}",
        .key = KEY_TEXT,
        .id = {{"header:X-Razorpay-Event-Id", NULL}},
        .type = {{"body:event", NULL}},
    },
    /* WooCommerce: the delivery's id is made of the hook and the second. */
    {
        .provider = "woocommerce",
        .header = "X-WC-Webhook-Signature",
        .label = "",
        .encoding = ENCODE_BASE64,
        .content = "{body}",
        .key = KEY_TEXT,
        .id = {{"header:X-WC-Webhook-Delivery-ID", NULL}},
        .id_and_body = true,
        .type = {{"header:X-WC-Webhook-Topic", NULL}},
        .ping = "webhook_id",
    },
    /* Twilio: a form is signed field by field, a JSON body by its digest in the URL. */
    {
        .provider = "twilio",
        .header = "X-Twilio-Signature",
        .label = "",
        .encoding = ENCODE_BASE64,
        .content = "{url}{form}",
        .hash = DIGEST_SHA1,
        .key = KEY_TEXT,
        .ports = true,
        .body_param = "bodySHA256",
        .id = {{"header:I-Twilio-Idempotency-Token", NULL}, {"digest", NULL}},
        .type = {{"body:EventType", NULL},
                 {"body:CallStatus", "call."},
                 {"body:MessageStatus", "message."},
                 {"body:SmsStatus", "message."},
                 {"is:callback", NULL}},
        .form = FORM_FIELDS,
    },
    /* The configuration fills in the rest. */
    {
        .provider = "hmac",
        .label = "",
        .content = "{body}",
        .key = KEY_TEXT,
        .form = FORM_EITHER,
        .numbers = true,
    },
};

const char scheme_unknown[] =
    "is not a known provider: use stripe, standard-webhooks, github, gitlab, shopify, slack, square, "
    "paddle, lemonsqueezy, razorpay, woocommerce, twilio or hmac";

const struct scheme *scheme_find(const char *provider)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (strcmp(table[i].provider, provider) == 0)
            return &table[i];
    }
    return NULL;
}

const struct scheme *scheme_at(size_t n)
{
    return n < ARRAY_LEN(table) ? &table[n] : NULL;
}

int scheme_tolerance(const struct scheme *scheme)
{
    while (scheme->tolerance == 0 && scheme->other != NULL)
        scheme = scheme->other;
    return scheme->tolerance;
}

bool scheme_signs(const struct scheme *scheme, const char *part)
{
    return scheme->content != NULL && strstr(scheme->content, part) != NULL;
}
