/* cmd.h: the operator's sub-commands: their table, their options, what they share.
 * A sub-command is a row in operator.c and a function in a cmd_*.c; its options are a
 * table too, which reads the command line and prints --help. */
#ifndef HOOKONCE_CMD_H
#define HOOKONCE_CMD_H

#include "buf.h"
#include "compiler.h"
#include "conf.h"
#include "db.h"
#include "status.h"
#include <stdbool.h>

#define CMD_OPTIONS_MAX 16
#define CMD_FILES_MAX   1000

struct cmd_option {
    const char *name; /* "secret" for --secret */
    const char *arg;  /* what it takes, as help calls it; NULL: a switch */
    const char *help;
};

struct cmd {
    const char *name;
    const char *args; /* what follows the options, as help calls it */
    const char *summary;
    const char *text;                 /* further help, may be NULL */
    const struct cmd_option *options; /* ends with a row without a name */
    enum status (*run)(const struct cmd *cmd, int argc, char **argv);
};

/* What a command line gave: values by the option's place in the table, "" for a switch,
 * NULL when it is absent; then the rest. */
struct cmd_line {
    const char *value[CMD_OPTIONS_MAX];
    int count; /* arguments behind the options */
    char **args;
    bool helped; /* --help was asked for and printed: nothing is left to do */
};

/* Reads argv by the command's table. ST_USAGE, said on stderr. */
enum status cmd_parse(const struct cmd *cmd, int argc, char **argv,
                      struct cmd_line *line) MUST_CHECK;
void cmd_help(const struct cmd *cmd);

/* Says "hookonce: …" on stderr and returns the status. */
enum status cmd_fail(enum status status, const char *format, ...) PRINTF_LIKE(2, 3);

/* The configuration, from --config or where conf_find says. Said on stderr when bad. */
enum status cmd_conf(const char *path, struct conf **out) MUST_CHECK;
/* A ready session to its database (or to url, when given), for at most seconds. */
enum status cmd_db(const char *config, const char *url, int seconds, struct db **out) MUST_CHECK;
/* Says what the database said. Returns the status. */
enum status cmd_db_fail(const struct db *db, enum status status);

/* A whole number within bounds, or a time ("200ms", "50s", "5m", "3h", "30d") in
 * milliseconds. Leaves *out alone when text is NULL. ST_USAGE, said on stderr. */
enum status cmd_number(const char *text, const char *option, long low, long high,
                       long *out) MUST_CHECK;
enum status cmd_time(const char *text, const char *option, long *out) MUST_CHECK;

/* A whole file ("-": stdin), at most 64 MiB. Said on stderr when it cannot be read. */
enum status cmd_read(const char *path, struct buf *out) MUST_CHECK;

/* A column as JSON: its key, and whether it is a number. */
struct cmd_json_key {
    const char *name;
    bool number;
};
/* The rows as one JSON array of objects; SQL's NULL is null. */
void cmd_print_json(const struct db_rows *rows, const struct cmd_json_key *keys, int count);

/* Whether a state has that name (NULL: none was given). ST_USAGE, said on stderr. */
enum status cmd_filter_state(const char *state) MUST_CHECK;

/* Whom to sign for: --provider and --secret, or an endpoint of the configuration. */
struct cmd_signer {
    struct scheme_policy policy; /* points into conf, where that was read */
    struct conf *conf;
    const char *path; /* the endpoint's, NULL without */
};
enum status cmd_signer(const char *provider, const char *secret, const char *endpoint,
                       const char *config, struct cmd_signer *signer) MUST_CHECK;
void cmd_signer_release(struct cmd_signer *signer);

enum status cmd_config_run(const struct cmd *cmd, int argc, char **argv);
enum status cmd_migrate_run(const struct cmd *cmd, int argc, char **argv);
enum status cmd_list_run(const struct cmd *cmd, int argc, char **argv);
enum status cmd_purge_run(const struct cmd *cmd, int argc, char **argv);
enum status cmd_retry_run(const struct cmd *cmd, int argc, char **argv);
enum status cmd_review_run(const struct cmd *cmd, int argc, char **argv);
enum status cmd_send_run(const struct cmd *cmd, int argc, char **argv);
enum status cmd_show_run(const struct cmd *cmd, int argc, char **argv);
enum status cmd_sign_run(const struct cmd *cmd, int argc, char **argv);
enum status cmd_status_run(const struct cmd *cmd, int argc, char **argv);
enum status cmd_worker_run(const struct cmd *cmd, int argc, char **argv);
extern const struct cmd_option cmd_list_options[], cmd_purge_options[], cmd_retry_options[],
    cmd_review_options[], cmd_show_options[];
extern const struct cmd_option cmd_config_options[], cmd_migrate_options[], cmd_send_options[],
    cmd_sign_options[], cmd_status_options[], cmd_worker_options[];

#endif
