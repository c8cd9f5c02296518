#include "cmd.h"

#include "clock.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 64 << 20 };

enum status cmd_fail(enum status status, const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fputs("hookonce: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

void cmd_help(const struct cmd *cmd)
{
    char left[64];

    printf("usage: hookonce %s%s%s%s\n\n%s.\n", cmd->name,
           cmd->options[0].name != NULL ? " [OPTIONS]" : "", cmd->args[0] != '\0' ? " " : "",
           cmd->args, cmd->summary);
    if (cmd->text != NULL)
        printf("%s\n", cmd->text);
    if (cmd->options[0].name != NULL)
        puts("");
    for (const struct cmd_option *o = cmd->options; o->name != NULL; o++) {
        snprintf(left, sizeof(left), "--%s%s%s", o->name, o->arg != NULL ? " " : "",
                 o->arg != NULL ? o->arg : "");
        printf("  %-20s %s\n", left, o->help);
    }
}

enum status cmd_parse(const struct cmd *cmd, int argc, char **argv, struct cmd_line *line)
{
    struct option longs[CMD_OPTIONS_MAX + 2];
    int count = 0, got, which = 0;

    memset(line, 0, sizeof(*line));
    memset(longs, 0, sizeof(longs));
    for (; count < CMD_OPTIONS_MAX && cmd->options[count].name != NULL; count++) {
        longs[count].name = cmd->options[count].name;
        longs[count].has_arg = cmd->options[count].arg != NULL;
    }
    longs[count].name = "help";
    opterr = 0;
    optind = 1;
    while ((got = getopt_long(argc, argv, ":", longs, &which)) == 0) {
        if (which == count) {
            cmd_help(cmd);
            line->helped = true;
            return ST_OK;
        }
        line->value[which] = optarg != NULL ? optarg : "";
    }
    if (got != -1)
        return cmd_fail(ST_USAGE, "%s %s: see hookonce %s --help", argv[optind - 1],
                        got == ':' ? "needs a value" : "is no option here", cmd->name);
    line->count = argc - optind;
    line->args = argv + optind;
    if (line->count > 0 && cmd->args[0] == '\0')
        return cmd_fail(ST_USAGE, "%s takes no argument such as %s: see hookonce %s --help",
                        cmd->name, line->args[0], cmd->name);
    return ST_OK;
}

enum status cmd_number(const char *text, const char *option, long low, long high, long *out)
{
    char *end;
    long value;

    if (text == NULL)
        return ST_OK;
    errno = 0;
    value = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < low || value > high)
        return cmd_fail(ST_USAGE, "%s needs a whole number from %ld to %ld", option, low, high);
    *out = value;
    return ST_OK;
}

enum status cmd_time(const char *text, const char *option, long *out)
{
    return text == NULL || conf_time(text, out)
               ? ST_OK
               : cmd_fail(ST_USAGE, "%s needs a time such as 200ms, 50s, 5m, 3h or 30d", option);
}

enum status cmd_conf(const char *path, struct conf **out)
{
    const struct conf_lookup lookup = {NULL, NULL};
    char found[CONF_PATH_MAX], error[CONF_ERROR_MAX];
    enum status status;

    if (path == NULL) {
        conf_find(&lookup, found);
        path = found;
    }
    status = conf_load(path, &lookup, out, error);
    return status == ST_OK ? ST_OK : cmd_fail(status, "%s", error);
}

enum status cmd_db_fail(const struct db *db, enum status status)
{
    return cmd_fail(status, "%s: %s", status_text(status), db_error(db));
}

enum status cmd_db(const char *config, const char *url, int seconds, struct db **out)
{
    struct conf *conf = NULL;
    enum status status;

    *out = NULL;
    if (url == NULL) {
        status = cmd_conf(config, &conf);
        if (status != ST_OK)
            return status;
        url = conf->database;
    }
    *out = db_new(url);
    conf_free(conf);
    if (*out == NULL)
        return cmd_fail(ST_NOMEM, "out of memory");
    db_until(*out, clock_ms() + (int64_t)seconds * 1000);
    status = db_ready(*out);
    if (status == ST_OK)
        return ST_OK;
    (void)cmd_db_fail(*out, status);
    db_free(*out);
    *out = NULL;
    return status;
}

enum status cmd_read(const char *path, struct buf *out)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    enum status status = ST_OK;
    size_t got;
    char *to;

    buf_init(out, FILE_MAX);
    if (file == NULL)
        return cmd_fail(ST_IO, "%s cannot be read: %s", path, strerror(errno));
    do {
        to = buf_space(out, 65536);
        got = to == NULL ? 0 : fread(to, 1, 65536, file);
        if (to != NULL)
            buf_grew(out, got);
    } while (got > 0);
    if (ferror(file))
        status = cmd_fail(ST_IO, "%s cannot be read: %s", path, strerror(errno));
    else if (buf_failed(out))
        status = cmd_fail(ST_IO, "%s is longer than 64 MiB", path);
    if (file != stdin)
        fclose(file);
    return status;
}
