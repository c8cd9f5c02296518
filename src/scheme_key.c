#include "scheme.h"

#include <string.h>

static const char base64_prefix[] = "whsec_";

const unsigned char *scheme_key_of(enum scheme_key key, const char *text, size_t text_len,
                                   unsigned char *room, size_t *len)
{
    const size_t prefix = strlen(base64_prefix);

    *len = text_len;
    if (key != KEY_BASE64)
        return (const unsigned char *)text;
    if (text_len > prefix && strncmp(text, base64_prefix, prefix) == 0) {
        text += prefix;
        text_len -= prefix;
    }
    return decode(ENCODE_BASE64, text, text_len, room, SCHEME_SECRET_MAX, len) && *len > 0 ? room
                                                                                           : NULL;
}

/* What no secret has in it. Blanks are in those alone that a person made up. */
static const char *check_text(const char *secret, size_t len)
{
    bool generated = strncmp(secret, base64_prefix, strlen(base64_prefix)) == 0;

    if (len == 0)
        return "is empty";
    if (len > SCHEME_SECRET_MAX)
        return "is longer than 4096 bytes";
    if (secret[0] == '"' || secret[0] == '\'' || secret[len - 1] == '"' || secret[len - 1] == '\'')
        return "stands in quotes: take them away";
    if (strncmp(secret, "v1,", 3) == 0 || strncmp(secret, "v0,", 3) == 0)
        return "begins with a signature's prefix (v1,): take that away";
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)secret[i];

        if (c < ' ' || c == 0x7f || (c == ' ' && (generated || i == 0)))
            return "has a blank or a line end inside: give one secret a line";
        if (c > 0x7f)
            return "has a character that no secret has: is there a byte order mark?";
    }
    return NULL;
}

/* A text that no form of signature of this provider could make a key of. */
static const char *check_key(const struct scheme_policy *policy, const char *secret, size_t len)
{
    enum scheme_key key = policy->key != KEY_OF_SCHEME ? policy->key : policy->scheme->key;
    bool encoded = strncmp(secret, base64_prefix, strlen(base64_prefix)) == 0;
    unsigned char room[SCHEME_SECRET_MAX];
    const unsigned char *made;
    size_t made_len;

    /* GitLab has tokens as they are, and signing tokens in base64 */
    if (key == KEY_TEXT && !(encoded && policy->scheme->other != NULL))
        return NULL;
    made = scheme_key_of(KEY_BASE64, secret, len, room, &made_len);
    explicit_bzero(room, sizeof(room));
    return made != NULL
               ? NULL
               : "is no base64: copy it whole, as the provider shows it (or set key = text)";
}

const char *scheme_secret(struct scheme_policy *policy, const char *secret)
{
    size_t len = strlen(secret);
    const char *wrong;

    while (len > 0 && strchr(" \t\r\n", secret[len - 1]) != NULL)
        len--;
    wrong = check_text(secret, len);
    if (wrong == NULL)
        wrong = check_key(policy, secret, len);
    if (wrong == NULL && secrets_add(&policy->secrets, secret, len) != ST_OK)
        wrong = "cannot be kept: out of memory, or more than eight";
    return wrong;
}
