#include "clock.h"
#include "cmd.h"
#include "scheme_sign.h"

#include <stdio.h>

enum { SECRET, PROVIDER, ENDPOINT, CONFIG, TIME, ID, TYPE, URL, FORM };
const struct cmd_option cmd_sign_options[] = {
    [SECRET] = {"secret", "SECRET", "literal, env:NAME or file:PATH; else the configuration's"},
    [PROVIDER] = {"provider", "NAME", "whose signature, with --secret (stripe)"},
    [ENDPOINT] = {"endpoint", "NAME", "whose secret (the first endpoint's)"},
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [TIME] = {"time", "SECONDS", "sign as of this time (now)"},
    [ID] = {"id", "ID", "the event's, where a header tells it (made of the body)"},
    [TYPE] = {"type", "TYPE", "the event's, where a header tells it"},
    [URL] = {"url", "URL", "what is called, where that is signed"},
    [FORM] = {"form", NULL, "the file is a form, not JSON"},
    {NULL, NULL, NULL},
};

enum status cmd_sign_run(const struct cmd *cmd, int argc, char **argv)
{
    struct cmd_signer signer = {.conf = NULL};
    struct scheme_signing signing;
    struct cmd_line line;
    struct buf file, url, headers;
    long t;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    if (line.count != 1)
        return cmd_fail(ST_USAGE, "sign needs one file: see hookonce sign --help");
    t = (long)clock_wall();
    status = cmd_number(line.value[TIME], "--time", 0, 253402300799, &t);
    if (status != ST_OK)
        return status;
    buf_init(&headers, 16384);
    buf_init(&url, 8192);
    status = cmd_read(line.args[0], &file);
    if (status == ST_OK)
        status = cmd_signer(line.value[PROVIDER], line.value[SECRET], line.value[ENDPOINT],
                            line.value[CONFIG], &signer);
    if (status == ST_OK) {
        if (line.value[URL] != NULL)
            signer.policy.url = line.value[URL];
        buf_text(&url, signer.policy.url == NULL ? "" : signer.policy.url);
        signing = (struct scheme_signing){.policy = &signer.policy,
                                          .body = file.data,
                                          .len = file.len,
                                          .time = t,
                                          .id = line.value[ID],
                                          .type = line.value[TYPE],
                                          .form = line.value[FORM] != NULL};
        status = scheme_sign(&signing, &url, &headers);
    }
    if (status == ST_OK)
        fputs(headers.data, stdout);
    cmd_signer_release(&signer);
    buf_release(&headers);
    buf_release(&url);
    buf_release(&file);
    return status;
}
