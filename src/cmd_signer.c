#include "cmd.h"

#include <stdlib.h>
#include <string.h>

/* A secret from the command line would stand in ps; from a file or a variable it does not. */
static enum status given_secret(const char *provider, const char *secret, struct cmd_signer *signer)
{
    struct buf text;
    const char *wrong;
    enum status status = ST_OK;

    signer->policy.scheme = scheme_find(provider);
    if (signer->policy.scheme == NULL)
        return cmd_fail(ST_USAGE, "%s %s", provider, scheme_unknown);
    if (signer->policy.scheme->header == NULL)
        return cmd_fail(ST_USAGE,
                        "the provider %s is described by the configuration: use --endpoint",
                        provider);
    buf_init(&text, SCHEME_SECRET_MAX + 1);
    if (strncmp(secret, "file:", 5) == 0)
        status = cmd_read(secret + 5, &text);
    else if (strncmp(secret, "env:", 4) == 0)
        buf_text(&text, getenv(secret + 4) != NULL ? getenv(secret + 4) : "");
    else
        buf_text(&text, secret);
    if (status == ST_OK && text.data != NULL) {
        wrong = scheme_secret(&signer->policy, text.data);
        status = wrong != NULL ? cmd_fail(ST_USAGE, "the secret %s", wrong) : ST_OK;
    }
    buf_wipe(&text);
    return status;
}

enum status cmd_signer(const char *provider, const char *secret, const char *endpoint,
                       const char *config, struct cmd_signer *signer)
{
    const struct conf_endpoint *e;
    enum status status;

    memset(signer, 0, sizeof(*signer));
    if (secret != NULL)
        return given_secret(provider == NULL ? "stripe" : provider, secret, signer);
    status = cmd_conf(config, &signer->conf);
    if (status != ST_OK)
        return status;
    e = endpoint == NULL ? &signer->conf->endpoints[0] : conf_endpoint(signer->conf, endpoint);
    if (e == NULL)
        return cmd_fail(ST_USAGE, "the configuration has no endpoint %s", endpoint);
    signer->path = e->path == NULL ? "/" : e->path;
    signer->policy = e->policy;
    return ST_OK;
}

void cmd_signer_release(struct cmd_signer *signer)
{
    if (signer->conf == NULL)
        secrets_release(&signer->policy.secrets);
    conf_free(signer->conf);
    memset(signer, 0, sizeof(*signer));
}
