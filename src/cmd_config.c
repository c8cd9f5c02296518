#include "cmd.h"

#include <stdio.h>

enum { CONFIG };
const struct cmd_option cmd_config_options[] = {
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    {NULL, NULL, NULL},
};

enum status cmd_config_run(const struct cmd *cmd, int argc, char **argv)
{
    struct cmd_line line;
    struct conf *conf;
    struct buf out;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    status = cmd_conf(line.value[CONFIG], &conf);
    if (status != ST_OK)
        return status;
    buf_init(&out, 1 << 20);
    conf_print(conf, &out);
    if (!buf_failed(&out))
        fputs(out.data, stdout);
    buf_release(&out);
    conf_free(conf);
    return ST_OK;
}
