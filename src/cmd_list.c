#include "cmd.h"
#include "ops.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_SECONDS = 60, DAY_MS = 86400000, PAGE_ROWS = 50 };

enum { CONFIG, DATABASE, ENDPOINT, TYPE, STATE, SINCE, LIMIT, PAGE, JSON };
const struct cmd_option cmd_list_options[] = {
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [DATABASE] = {"database", "URL", "this database instead of the configuration's"},
    [ENDPOINT] = {"endpoint", "NAME", "of this endpoint alone"},
    [TYPE] = {"type", "TYPE", "of this type alone; may hold *: 'invoice.*'"},
    [STATE] = {"state", "STATE", "waiting, working, failing, resting, processed, ignored"},
    [SINCE] = {"since", "TIME", "received within: 90m, 24h (1d without a state), 30d"},
    [LIMIT] = {"limit", "N", "rows of a page (50)"},
    [PAGE] = {"page", "N", "which page (1)"},
    [JSON] = {"json", NULL, "a JSON array, for machines"},
    {NULL, NULL, NULL},
};

static const struct cmd_json_key list_keys[LIST_COLUMNS] = {
    [LIST_EVENT] = {"event_id", false},       [LIST_TYPE] = {"event_type", false},
    [LIST_ENDPOINT] = {"endpoint", false},    [LIST_STATE] = {"state", false},
    [LIST_DELIVERIES] = {"deliveries", true}, [LIST_ATTEMPTS] = {"attempts", true},
    [LIST_AGE] = {"age_seconds", true},       [LIST_ERROR] = {"last_error", false},
};

static const char *list_cell(const void *rows, int row, int column)
{
    static char age[TEXT_AGE_MAX];
    const char *value = db_value(rows, row, column);

    return column == LIST_AGE ? text_age(strtoll(value, NULL, 10), age) : value;
}

static void print_list(const struct db_rows *rows)
{
    static const struct text_column columns[LIST_COLUMNS] = {
        [LIST_EVENT] = {"event", 0, 1},       [LIST_TYPE] = {"type", 0, 1},
        [LIST_ENDPOINT] = {"endpoint", 0, 1}, [LIST_STATE] = {"state", 0, 0},
        [LIST_DELIVERIES] = {"del", 1, 0},    [LIST_ATTEMPTS] = {"att", 1, 0},
        [LIST_AGE] = {"age", 1, 0},           [LIST_ERROR] = {"last error", 0, 1},
    };
    const struct text_rows cells = {list_cell, rows, db_rows_count(rows)};

    text_table(stdout, columns, LIST_COLUMNS, &cells, text_width(stdout));
}

enum status cmd_filter_state(const char *state)
{
    const char *name;

    for (size_t n = 0; state != NULL && (name = ops_state(n)) != NULL; n++) {
        if (strcmp(name, state) == 0)
            return ST_OK;
    }
    return state == NULL ? ST_OK
                         : cmd_fail(ST_USAGE,
                                    "there is no state %s: use waiting, working, "
                                    "failing, resting, processed or ignored",
                                    state);
}

static enum status read_filter(const struct cmd_line *line, struct ops_filter *filter)
{
    long since = line->value[STATE] == NULL ? DAY_MS : 0, limit = PAGE_ROWS, page = 1;
    enum status status = cmd_filter_state(line->value[STATE]);

    if (status == ST_OK)
        status = cmd_time(line->value[SINCE], "--since", &since);
    if (status == ST_OK)
        status = cmd_number(line->value[LIMIT], "--limit", 1, 10000, &limit);
    if (status == ST_OK)
        status = cmd_number(line->value[PAGE], "--page", 1, 100000, &page);
    *filter = (struct ops_filter){.endpoint = line->value[ENDPOINT],
                                  .type = line->value[TYPE],
                                  .state = line->value[STATE],
                                  .since_seconds = since / 1000,
                                  .limit = (int)limit,
                                  .offset = (int)(limit * (page - 1))};
    return status;
}

enum status cmd_list_run(const struct cmd *cmd, int argc, char **argv)
{
    struct ops_filter filter;
    struct db_rows *rows = NULL;
    struct cmd_line line;
    struct db *db;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    status = read_filter(&line, &filter);
    if (status == ST_OK)
        status = cmd_db(line.value[CONFIG], line.value[DATABASE], LIST_SECONDS, &db);
    if (status != ST_OK)
        return status;
    status = ops_list(db, &filter, &rows);
    if (status != ST_OK)
        (void)cmd_db_fail(db, status);
    else if (line.value[JSON] != NULL)
        cmd_print_json(rows, list_keys, LIST_COLUMNS);
    else if (db_rows_count(rows) == 0)
        puts("no receipts");
    else
        print_list(rows);
    if (status == ST_OK && line.value[JSON] == NULL && db_rows_count(rows) == filter.limit)
        puts("there may be more: --page");
    db_rows_free(rows);
    db_free(db);
    return status;
}
