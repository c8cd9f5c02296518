#include "clock.h"
#include "cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SECRET, PROVIDER, ENDPOINT, CONFIG, TIME };
const struct cmd_option cmd_sign_options[] = {
    [SECRET] = {"secret", "SECRET", "literal, env:NAME or file:PATH; else the configuration's"},
    [PROVIDER] = {"provider", "NAME", "whose signature, with --secret (stripe)"},
    [ENDPOINT] = {"endpoint", "NAME", "whose secret (the first endpoint's)"},
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [TIME] = {"time", "SECONDS", "sign as of this time (now)"},
    {NULL, NULL, NULL},
};

enum status cmd_sign_run(const struct cmd *cmd, int argc, char **argv)
{
    struct cmd_signer signer;
    struct cmd_line line;
    struct buf file, header;
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
    buf_init(&header, 4096);
    status = cmd_read(line.args[0], &file);
    if (status == ST_OK)
        status = cmd_signer(line.value[PROVIDER], line.value[SECRET], line.value[ENDPOINT],
                            line.value[CONFIG], &signer);
    if (status == ST_OK) {
        status = scheme_sign(signer.scheme, signer.secrets.of[0].key, signer.secrets.of[0].len,
                             file.data, file.len, t, &header);
        secrets_release(&signer.secrets);
    }
    if (status == ST_OK)
        puts(header.data);
    buf_release(&header);
    buf_release(&file);
    return status;
}
