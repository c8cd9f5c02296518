#include "cmd.h"
#include "ops.h"

#include <inttypes.h>
#include <stdio.h>

enum { STATUS_SECONDS = 30 };

enum { CONFIG, DATABASE, JSON };
const struct cmd_option cmd_status_options[] = {
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [DATABASE] = {"database", "URL", "this database instead of the configuration's"},
    [JSON] = {"json", NULL, "one JSON object, for machines"},
    {NULL, NULL, NULL},
};

/* 4s, 3m 12s, 5h 2m, 8d 1h */
static void print_age(int64_t seconds)
{
    if (seconds < 60)
        printf("%" PRId64 "s", seconds);
    else if (seconds < 3600)
        printf("%" PRId64 "m %" PRId64 "s", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        printf("%" PRId64 "h %" PRId64 "m", seconds / 3600, seconds / 60 % 60);
    else
        printf("%" PRId64 "d %" PRId64 "h", seconds / 86400, seconds / 3600 % 24);
}

static void print_json(const struct ops_status *s)
{
    printf("{\"unprocessed\":%" PRId64 ",\"resting\":%" PRId64 ",\"oldest_seconds\":%" PRId64
           ",\"reviews\":%" PRId64 ",\"hour_events\":%" PRId64 ",\"hour_duplicates\":%" PRId64
           ",\"outbox_waiting\":%" PRId64 ",\"ledger_entries\":%" PRId64 "}\n",
           s->unprocessed, s->resting, s->oldest_seconds, s->reviews, s->hour_events,
           s->hour_repeats, s->outbox_waiting, s->ledger_entries);
}

static void print_table(const struct ops_status *s, const struct db_rows *types)
{
    printf("unprocessed      %8" PRId64 "   oldest ", s->unprocessed - s->resting);
    print_age(s->oldest_seconds);
    printf("\nresting          %8" PRId64 "   for a person\n", s->resting);
    printf("open reviews     %8" PRId64 "\n", s->reviews);
    printf("ledger entries   %8" PRId64 "\n", s->ledger_entries);
    printf("outbox waiting   %8" PRId64 "\n", s->outbox_waiting);
    printf("last hour        %8" PRId64 "   events, and %" PRId64 " duplicates\n", s->hour_events,
           s->hour_repeats);
    for (int i = 0; i < db_rows_count(types); i++)
        printf("  %-40.40s %8s %8s\n", db_value(types, i, 0), db_value(types, i, 1),
               db_value(types, i, 2));
}

enum status cmd_status_run(const struct cmd *cmd, int argc, char **argv)
{
    struct db_rows *types = NULL;
    struct ops_status numbers;
    struct cmd_line line;
    struct db *db;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    status = cmd_db(line.value[CONFIG], line.value[DATABASE], STATUS_SECONDS, &db);
    if (status != ST_OK)
        return status;
    status = ops_status(db, &numbers);
    if (status == ST_OK)
        status = ops_hour_by_type(db, &types);
    if (status != ST_OK)
        (void)cmd_db_fail(db, status);
    else if (line.value[JSON] != NULL)
        print_json(&numbers);
    else
        print_table(&numbers, types);
    db_rows_free(types);
    db_free(db);
    return status;
}
