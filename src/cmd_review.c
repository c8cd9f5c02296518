#include "cmd.h"
#include "ops.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REVIEW_SECONDS = 30, PAGE_ROWS = 50 };

enum { CONFIG, DATABASE, ENDPOINT, NOTE, LIMIT, PAGE, JSON };
const struct cmd_option cmd_review_options[] = {
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [DATABASE] = {"database", "URL", "this database instead of the configuration's"},
    [ENDPOINT] = {"endpoint", "NAME", "of this endpoint alone"},
    [NOTE] = {"note", "TEXT", "with resolve: what you found and did"},
    [LIMIT] = {"limit", "N", "rows of a page (50)"},
    [PAGE] = {"page", "N", "which page (1)"},
    [JSON] = {"json", NULL, "a JSON array, for machines"},
    {NULL, NULL, NULL},
};

static const struct cmd_json_key keys[REVIEW_COLUMNS] = {
    [REVIEW_ID] = {"id", true},           [REVIEW_REASON] = {"reason", false},
    [REVIEW_EVENT] = {"event_id", false}, [REVIEW_ENDPOINT] = {"endpoint", false},
    [REVIEW_AGE] = {"age_seconds", true}, [REVIEW_DETAIL] = {"detail", false},
    [REVIEW_NOTE] = {"note", false},
};

static const char *review_cell(const void *rows, int row, int column)
{
    static char age[TEXT_AGE_MAX];
    const char *value = db_value(rows, row, column);

    return column == REVIEW_AGE ? text_age(strtoll(value, NULL, 10), age) : value;
}

static void print_reviews(const struct db_rows *rows)
{
    static const struct text_column columns[REVIEW_NOTE] = {
        [REVIEW_ID] = {"id", 1, 0},       [REVIEW_REASON] = {"reason", 0, 0},
        [REVIEW_EVENT] = {"event", 0, 1}, [REVIEW_ENDPOINT] = {"endpoint", 0, 1},
        [REVIEW_AGE] = {"age", 1, 0},     [REVIEW_DETAIL] = {"detail", 0, 1},
    };
    const struct text_rows cells = {review_cell, rows, db_rows_count(rows)};

    text_table(stdout, columns, REVIEW_NOTE, &cells, text_width(stdout));
}

static enum status list(struct db *db, const struct cmd_line *line)
{
    struct ops_filter filter = {.endpoint = line->value[ENDPOINT]};
    struct db_rows *rows = NULL;
    long limit = PAGE_ROWS, page = 1;
    enum status status = cmd_number(line->value[LIMIT], "--limit", 1, 10000, &limit);

    if (status == ST_OK)
        status = cmd_number(line->value[PAGE], "--page", 1, 100000, &page);
    if (status != ST_OK)
        return status;
    filter.limit = (int)limit;
    filter.offset = (int)(limit * (page - 1));
    status = ops_reviews(db, &filter, &rows);
    if (status != ST_OK)
        (void)cmd_db_fail(db, status);
    else if (line->value[JSON] != NULL)
        cmd_print_json(rows, keys, REVIEW_COLUMNS);
    else if (db_rows_count(rows) == 0)
        puts("no open reviews");
    else
        print_reviews(rows);
    db_rows_free(rows);
    return status;
}

static enum status resolve(struct db *db, const struct cmd_line *line)
{
    bool found;
    long id = 0;
    enum status status = cmd_number(line->args[1], "resolve", 1, INT64_MAX, &id);

    if (status == ST_OK && line->value[NOTE] == NULL)
        status = cmd_fail(ST_USAGE, "resolve needs --note TEXT: what you found and did");
    if (status != ST_OK)
        return status;
    status = ops_resolve(db, id, line->value[NOTE], &found);
    if (status != ST_OK)
        return cmd_db_fail(db, status);
    if (!found)
        return cmd_fail(ST_REFUSED, "there is no open review %ld", id);
    printf("review %ld is resolved\n", id);
    return ST_OK;
}

enum status cmd_review_run(const struct cmd *cmd, int argc, char **argv)
{
    struct cmd_line line;
    struct db *db;
    bool resolves;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    resolves = line.count == 2 && strcmp(line.args[0], "resolve") == 0;
    if (line.count != 0 && !resolves)
        return cmd_fail(ST_USAGE, "review takes nothing, or: resolve ID --note TEXT");
    status = cmd_db(line.value[CONFIG], line.value[DATABASE], REVIEW_SECONDS, &db);
    if (status != ST_OK)
        return status;
    status = resolves ? resolve(db, &line) : list(db, &line);
    db_free(db);
    return status;
}
