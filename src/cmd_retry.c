#include "cmd.h"
#include "ops.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RETRY_SECONDS = 300 };

enum { CONFIG, DATABASE, ENDPOINT, TYPE, STATE, SINCE, IGNORED, YES };
const struct cmd_option cmd_retry_options[] = {
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [DATABASE] = {"database", "URL", "this database instead of the configuration's"},
    [ENDPOINT] = {"endpoint", "NAME", "of this endpoint alone"},
    [TYPE] = {"type", "TYPE", "of this type alone; may hold *: 'invoice.*'"},
    [STATE] = {"state", "STATE", "failing or resting alone (both)"},
    [SINCE] = {"since", "TIME", "received within: 90m, 24h, 30d"},
    [IGNORED] = {"ignored", NULL, "those that had no handler, once there is one"},
    [YES] = {"yes", NULL, "do not ask"},
    {NULL, NULL, NULL},
};

/* Asks on the terminal; without one the answer is no. */
static bool confirmed(int64_t count)
{
    char answer[16] = "";

    printf("%" PRId64 " receipt%s will be given back to the workers. Go on? [y/N] ", count,
           count == 1 ? "" : "s");
    fflush(stdout);
    if (!isatty(STDIN_FILENO) || fgets(answer, sizeof(answer), stdin) == NULL) {
        puts("");
        return false;
    }
    return answer[0] == 'y' || answer[0] == 'Y';
}

static enum status retry(struct db *db, const struct ops_filter *filter, bool ignored, bool yes)
{
    int64_t count;
    enum status status = ops_retry_count(db, filter, ignored, &count);

    if (status != ST_OK)
        return cmd_db_fail(db, status);
    if (count == 0 && filter->event_id != NULL)
        return cmd_fail(ST_REFUSED, "event %s has no receipt that failed or rests%s",
                        filter->event_id, ignored ? " or was ignored" : "");
    if (count == 0) {
        puts("nothing to give back");
        return ST_OK;
    }
    if (!yes && !confirmed(count))
        return cmd_fail(ST_REFUSED, "nothing was changed: answer y, or use --yes");
    status = ops_retry(db, filter, ignored, &count);
    if (status != ST_OK)
        return cmd_db_fail(db, status);
    printf("%" PRId64 " given back\n", count);
    return ST_OK;
}

enum status cmd_retry_run(const struct cmd *cmd, int argc, char **argv)
{
    struct ops_filter filter = {0};
    struct cmd_line line;
    struct db *db;
    long since = 0;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    if (line.count > 1)
        return cmd_fail(ST_USAGE, "retry takes one event's id, or options that select");
    status = cmd_filter_state(line.value[STATE]);
    if (status == ST_OK)
        status = cmd_time(line.value[SINCE], "--since", &since);
    if (status != ST_OK)
        return status;
    filter.event_id = line.count == 1 ? line.args[0] : NULL;
    filter.endpoint = line.value[ENDPOINT];
    filter.type = line.value[TYPE];
    filter.state = line.value[STATE];
    filter.since_seconds = since / 1000;
    status = cmd_db(line.value[CONFIG], line.value[DATABASE], RETRY_SECONDS, &db);
    if (status != ST_OK)
        return status;
    status = retry(db, &filter, line.value[IGNORED] != NULL, line.value[YES] != NULL);
    db_free(db);
    return status;
}
