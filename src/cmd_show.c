#include "cmd.h"
#include "ops.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOW_SECONDS = 30, REVIEWS_MAX = 100 };

enum { CONFIG, DATABASE, ENDPOINT, JSON };
const struct cmd_option cmd_show_options[] = {
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [DATABASE] = {"database", "URL", "this database instead of the configuration's"},
    [ENDPOINT] = {"endpoint", "NAME", "of this endpoint alone"},
    [JSON] = {"json", NULL, "a JSON array, for machines"},
    {NULL, NULL, NULL},
};

static const struct {
    const char *title;
    struct cmd_json_key key;
} columns[SHOW_COLUMNS] = {
    [SHOW_PROVIDER] = {"provider", {"provider", false}},
    [SHOW_ENDPOINT] = {"endpoint", {"endpoint", false}},
    [SHOW_EVENT] = {"event", {"event_id", false}},
    [SHOW_TYPE] = {"type", {"event_type", false}},
    [SHOW_STATE] = {"state", {"state", false}},
    [SHOW_RECEIVED] = {"received", {"received_at", false}},
    [SHOW_DELIVERIES] = {"deliveries", {"deliveries", true}},
    [SHOW_LAST_DELIVERY] = {"last one", {"last_delivery_at", false}},
    [SHOW_ATTEMPTS] = {"attempts", {"attempts", true}},
    [SHOW_NEXT] = {"next attempt", {"available_at", false}},
    [SHOW_PROCESSED] = {"processed", {"processed_at", false}},
    [SHOW_ERROR] = {"last error", {"last_error", false}},
    [SHOW_ACCOUNT] = {"account", {"account", false}},
    [SHOW_LIVEMODE] = {"livemode", {"livemode", false}},
    [SHOW_RAW] = {"raw bytes", {"raw_bytes", true}},
    [SHOW_PAYLOAD] = {"payload", {"payload", false}},
};

/* The whole text, whatever its length, without what could drive the terminal. */
static void print_clean(const char *text)
{
    size_t room = strlen(text) * 4 + 8;
    char *clean = malloc(room);

    if (clean == NULL)
        return;
    text_clean(clean, room, text, room, 1);
    puts(clean);
    free(clean);
}

static void print_receipt(const struct db_rows *rows, int row)
{
    for (int c = 0; c < SHOW_COLUMNS; c++) {
        const char *value = db_value(rows, row, c);

        if (value == NULL)
            continue;
        printf("%-13s", columns[c].title);
        if (c == SHOW_PAYLOAD)
            puts("");
        print_clean(value);
    }
}

static enum status print_reviews(struct db *db, const struct ops_filter *filter)
{
    struct db_rows *rows;
    char age[TEXT_AGE_MAX];
    enum status status = ops_reviews(db, filter, &rows);

    if (status != ST_OK)
        return cmd_db_fail(db, status);
    for (int i = 0; i < db_rows_count(rows); i++) {
        const char *note = db_value(rows, i, REVIEW_NOTE);

        printf("review %-6s%s, %s ago, %s ", db_value(rows, i, REVIEW_ID),
               db_value(rows, i, REVIEW_REASON),
               text_age(strtoll(db_value(rows, i, REVIEW_AGE), NULL, 10), age),
               note == NULL ? "open" : "resolved:");
        print_clean(note == NULL ? "" : note);
    }
    db_rows_free(rows);
    return ST_OK;
}

enum status cmd_show_run(const struct cmd *cmd, int argc, char **argv)
{
    struct ops_filter filter = {.limit = REVIEWS_MAX};
    struct cmd_json_key keys[SHOW_COLUMNS];
    struct db_rows *rows = NULL;
    struct cmd_line line;
    struct db *db;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    if (line.count != 1)
        return cmd_fail(ST_USAGE, "show needs one event's id: see hookonce show --help");
    filter.event_id = line.args[0];
    filter.endpoint = line.value[ENDPOINT];
    status = cmd_db(line.value[CONFIG], line.value[DATABASE], SHOW_SECONDS, &db);
    if (status != ST_OK)
        return status;
    status = ops_show(db, &filter, &rows);
    for (int c = 0; c < SHOW_COLUMNS; c++)
        keys[c] = columns[c].key;
    if (status != ST_OK) {
        (void)cmd_db_fail(db, status);
    } else if (line.value[JSON] != NULL) {
        cmd_print_json(rows, keys, SHOW_COLUMNS);
    } else {
        for (int i = 0; i < db_rows_count(rows); i++)
            print_receipt(rows, i);
        status = print_reviews(db, &filter);
    }
    if (status == ST_OK && db_rows_count(rows) == 0)
        status = cmd_fail(ST_REFUSED, "there is no receipt of event %s", line.args[0]);
    db_rows_free(rows);
    db_free(db);
    return status;
}
