#include "cmd.h"
#include "ops.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_SECONDS = 30, CHECK_SECONDS = 8 };

enum { CONFIG, DATABASE, JSON, CHECK, WARN_AGE, CRIT_AGE, WARN_REVIEWS, CRIT_REVIEWS };
const struct cmd_option cmd_status_options[] = {
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [DATABASE] = {"database", "URL", "this database instead of the configuration's"},
    [JSON] = {"json", NULL, "one JSON object, for machines"},
    [CHECK] = {"check", NULL, "one line and exit code of a monitoring plugin (0 to 3)"},
    [WARN_AGE] = {"warn-age", "TIME", "with --check: something is due as long (5m)"},
    [CRIT_AGE] = {"crit-age", "TIME", "with --check: something is due as long (30m)"},
    [WARN_REVIEWS] = {"warn-reviews", "N", "with --check: so many open reviews (1)"},
    [CRIT_REVIEWS] = {"crit-reviews", "N", "with --check: so many open reviews (10)"},
    {NULL, NULL, NULL},
};

struct thresholds {
    long warn_age, crit_age;         /* seconds that a receipt may be due and not taken */
    long warn_reviews, crit_reviews; /* open reviews */
};

static void print_json(const struct ops_status *s)
{
    const struct {
        const char *name;
        int64_t value;
    } members[] = {
        {"unprocessed", s->unprocessed},
        {"failing", s->failing},
        {"resting", s->resting},
        {"oldest_seconds", s->oldest_seconds},
        {"due_seconds", s->due_seconds},
        {"reviews", s->reviews},
        {"hour_events", s->hour_events},
        {"hour_duplicates", s->hour_repeats},
        {"outbox_waiting", s->outbox_waiting},
        {"workers", s->workers},
        {"poll_seconds", s->poll_seconds},
    };

    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        printf("%s\"%s\":%" PRId64, i == 0 ? "{" : ",", members[i].name, members[i].value);
    puts("}");
}

static const char *type_cell(const void *rows, int row, int column)
{
    return db_value(rows, row, column);
}

static void print_types(const struct db_rows *types)
{
    static const struct text_column columns[] = {
        {"  last hour", 0, 1}, {"events", 1, 0}, {"duplicates", 1, 0}};
    const struct text_rows cells = {type_cell, types, db_rows_count(types)};

    if (cells.count > 0)
        text_table(stdout, columns, (int)ARRAY_LEN(columns), &cells, text_width(stdout));
}

static void print_table(const struct ops_status *s, const struct db_rows *types)
{
    double rate =
        s->hour_events + s->hour_repeats == 0
            ? 0
            : 100.0 * (double)s->hour_repeats / (double)(s->hour_events + s->hour_repeats);
    char age[TEXT_AGE_MAX];

    printf("waiting     %8" PRId64 "   oldest %s, %" PRId64 " failed before\n",
           s->unprocessed - s->resting, text_age(s->oldest_seconds, age), s->failing);
    printf("resting     %8" PRId64 "   for a person: hookonce list --state resting\n", s->resting);
    printf("reviews     %8" PRId64 "   open: hookonce review\n", s->reviews);
    printf("workers     %8" PRId64 "   ", s->workers);
    if (s->poll_seconds < 0)
        puts("none is connected");
    else
        printf("last question %s ago\n", text_age(s->poll_seconds, age));
    printf("outbox      %8" PRId64 "   not published\n", s->outbox_waiting);
    printf("last hour   %8" PRId64 "   events, %" PRId64 " duplicates (%.1f %% of deliveries)\n",
           s->hour_events, s->hour_repeats, rate);
    print_types(types);
}

static enum status read_thresholds(const struct cmd_line *line, struct thresholds *t)
{
    long warn = 300000, crit = 1800000;
    enum status status = cmd_time(line->value[WARN_AGE], "--warn-age", &warn);

    *t = (struct thresholds){.warn_reviews = 1, .crit_reviews = 10};
    if (status == ST_OK)
        status = cmd_time(line->value[CRIT_AGE], "--crit-age", &crit);
    if (status == ST_OK)
        status =
            cmd_number(line->value[WARN_REVIEWS], "--warn-reviews", 0, 1000000, &t->warn_reviews);
    if (status == ST_OK)
        status =
            cmd_number(line->value[CRIT_REVIEWS], "--crit-reviews", 0, 1000000, &t->crit_reviews);
    t->warn_age = warn / 1000;
    t->crit_age = crit / 1000;
    return status;
}

/* One line with performance data, as the Monitoring Plugins' guidelines have it. */
static enum status check(const struct ops_status *s, const struct thresholds *t)
{
    enum status status = ST_OK;
    char age[TEXT_AGE_MAX];

    if (s->due_seconds >= t->crit_age || s->reviews >= t->crit_reviews)
        status = ST_CHECK_CRITICAL;
    else if (s->due_seconds >= t->warn_age || s->reviews >= t->warn_reviews)
        status = ST_CHECK_WARNING;
    printf("HOOKONCE %s - %" PRId64 " waiting, due for %s, %" PRId64 " resting, %" PRId64
           " open reviews | waiting=%" PRId64 " due=%" PRId64 "s;%ld;%ld failing=%" PRId64
           " resting=%" PRId64 " reviews=%" PRId64 ";%ld;%ld outbox=%" PRId64 "\n",
           status == ST_OK              ? "OK"
           : status == ST_CHECK_WARNING ? "WARNING"
                                        : "CRITICAL",
           s->unprocessed - s->resting, text_age(s->due_seconds, age), s->resting, s->reviews,
           s->unprocessed - s->resting, s->due_seconds, t->warn_age, t->crit_age, s->failing,
           s->resting, s->reviews, t->warn_reviews, t->crit_reviews, s->outbox_waiting);
    return status;
}

/* Whatever keeps a check from an answer is unknown, said where plugins say things. */
static enum status unknown(enum status status)
{
    printf("HOOKONCE UNKNOWN - %s\n", status_text(status));
    return ST_CHECK_UNKNOWN;
}

/* Whether a command line that could not be read is a monitor's. */
static bool wants_check(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0)
            return true;
    }
    return false;
}

static enum status report(struct db *db, const struct cmd_line *line, const struct thresholds *t)
{
    struct db_rows *types = NULL;
    struct ops_status numbers;
    bool table = line->value[JSON] == NULL && line->value[CHECK] == NULL;
    enum status status = ops_status(db, &numbers);

    if (status == ST_OK && table)
        status = ops_hour_by_type(db, &types);
    if (status != ST_OK)
        return cmd_db_fail(db, status);
    if (line->value[CHECK] != NULL)
        status = check(&numbers, t);
    else if (line->value[JSON] != NULL)
        print_json(&numbers);
    else
        print_table(&numbers, types);
    db_rows_free(types);
    return status;
}

enum status cmd_status_run(const struct cmd *cmd, int argc, char **argv)
{
    struct thresholds thresholds;
    struct cmd_line line;
    struct db *db = NULL;
    bool checks;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK)
        return wants_check(argc, argv) ? unknown(status) : status;
    if (line.helped)
        return ST_OK;
    checks = line.value[CHECK] != NULL;
    status = read_thresholds(&line, &thresholds);
    if (status == ST_OK)
        status = cmd_db(line.value[CONFIG], line.value[DATABASE],
                        checks ? CHECK_SECONDS : STATUS_SECONDS, &db);
    if (status == ST_OK)
        status = report(db, &line, &thresholds);
    db_free(db);
    if (checks && status != ST_OK && status != ST_CHECK_WARNING && status != ST_CHECK_CRITICAL)
        status = unknown(status);
    return status;
}
