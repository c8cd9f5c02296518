/* hookonce: the operator's program, a table of sub-commands. */
#include "cmd.h"
#include "version.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const struct cmd_option no_options[] = {{NULL, NULL, NULL}};
static enum status help_run(const struct cmd *cmd, int argc, char **argv);

static const struct cmd commands[] = {
    {"migrate", "", "create or complete the tables in the database",
     "Applies what is missing, in one transaction. Safe to run at any time and from\n"
     "several hosts at once.",
     cmd_migrate_options, cmd_migrate_run},
    {"config", "", "check the configuration and print what is in effect",
     "Secrets are masked. Exits with 3 and one message when something is wrong.",
     cmd_config_options, cmd_config_run},
    {"worker", "", "work receipts that wait: mode async and auto",
     "Runs until it is told to stop (TERM finishes the receipt in hand), or with\n"
     "--drain until nothing is due. Several may run, on several hosts.",
     cmd_worker_options, cmd_worker_run},
    {"status", "", "how the inbox stands", NULL, cmd_status_options, cmd_status_run},
    {"list", "", "list receipts, newest first", NULL, cmd_list_options, cmd_list_run},
    {"show", "ID", "everything about one event", "ID is the provider's: evt_...", cmd_show_options,
     cmd_show_run},
    {"retry", "[ID]", "give receipts back to the workers",
     "One event's, or all that failed or rest and that the options select. Says how\n"
     "many and asks first. They get all their attempts again; their reviews are\n"
     "resolved.",
     cmd_retry_options, cmd_retry_run},
    {"review", "[resolve ID]", "what a person must look at, and that it was done", NULL,
     cmd_review_options, cmd_review_run},
    {"purge", "", "blank old payloads, delete very old receipts",
     "Two stages: the payload goes first, the key stays, so that a late repeat is\n"
     "still a duplicate. May run beside live traffic; stopped half-way it has lost\n"
     "nothing.",
     cmd_purge_options, cmd_purge_run},
    {"sign", "FILE", "print the signature header for a file",
     "FILE is - for standard input. For trying out: the provider signs in production.",
     cmd_sign_options, cmd_sign_run},
    {"send", "FILE...", "sign files and post them to an endpoint",
     "Prints one line for each answer. Exits with 1 when one of them was no 200.", cmd_send_options,
     cmd_send_run},
    {"help", "[COMMAND]", "explain a command", NULL, no_options, help_run},
};

static void usage(FILE *to)
{
    fputs(
        "hookonce: webhooks applied once, and never lost\n\nusage: hookonce COMMAND [OPTIONS]\n\n",
        to);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(to, "  %-10s%s\n", commands[i].name, commands[i].summary);
    fputs("\nhookonce COMMAND --help explains each. Exit codes: 0 done, 1 failed, 2 usage,\n"
          "3 configuration, 4 database.\n",
          to);
}

static const struct cmd *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static enum status help_run(const struct cmd *cmd, int argc, char **argv)
{
    const struct cmd *asked;
    struct cmd_line line;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    if (line.count == 0) {
        usage(stdout);
        return ST_OK;
    }
    asked = find(line.args[0]);
    if (asked == NULL)
        return cmd_fail(ST_USAGE, "there is no command %s: see hookonce help", line.args[0]);
    cmd_help(asked);
    return ST_OK;
}

int main(int argc, char **argv)
{
    const struct cmd *cmd;
    const char *name = argc > 1 ? argv[1] : "";

    setlocale(LC_CTYPE, "");
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("hookonce " HOOKONCE_VERSION);
        return status_exit(ST_OK);
    }
    cmd = find(name);
    if (cmd == NULL) {
        if (name[0] != '\0')
            (void)cmd_fail(ST_USAGE, "there is no command %s", name);
        usage(stderr);
        return status_exit(ST_USAGE);
    }
    return status_exit(cmd->run(cmd, argc - 1, argv + 1));
}
