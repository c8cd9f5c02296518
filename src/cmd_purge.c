#include "clock.h"
#include "cmd.h"
#include "ops.h"
#include "stop.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    DAY_MS = 86400000,
    RESEND_DAYS = 30, /* as long Stripe lists and resends an event */
    STEP_MS = 60000,  /* for one step, at most */
    STEP_BLOCKS = 64, /* of 8 KiB: some hundred receipts */
    LINE_MS = 10000,  /* between two lines of progress where there is no terminal */
};

enum { CONFIG, DATABASE, PAYLOAD, KEYS, BLOCKS, FORCE };
const struct cmd_option cmd_purge_options[] = {
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [DATABASE] = {"database", "URL", "this database instead of the configuration's"},
    [PAYLOAD] = {"payload", "TIME", "blank the payload of what was processed before (30d)"},
    [KEYS] = {"keys", "TIME", "delete what was processed before, key and all (400d)"},
    [BLOCKS] = {"blocks", "N", "of the table in one transaction (64)"},
    [FORCE] = {"force", NULL, "keys younger than the provider may send again (30d)"},
    {NULL, NULL, NULL},
};

/* "[#########           ]  45 %  12000 blanked, 300 deleted, 1m 3s left" */
static void show_progress(const struct ops_purge *p, int64_t began, bool bar)
{
    int64_t done = p->next_block < p->blocks ? p->next_block : p->blocks;
    int percent = p->blocks == 0 ? 100 : (int)(done * 100 / p->blocks);
    int64_t left = done == 0 ? 0 : (clock_ms() - began) * (p->blocks - done) / done / 1000;
    char age[TEXT_AGE_MAX];

    if (bar)
        printf("\r[%-30.*s]", percent * 30 / 100, "##############################");
    printf(" %3d %%  %" PRId64 " blanked, %" PRId64 " deleted, %s left%s", percent, p->blanked,
           p->deleted, text_age(left, age), bar ? "   " : "\n");
    fflush(stdout);
}

/* As long as a step took, the disks belong to the deliveries. */
static void pause_for(int64_t ms)
{
    (void)!stop_wait(-1, ms > 1000 ? 1000 : (int)ms);
}

static enum status purge(struct db *db, struct ops_purge *p, int blocks)
{
    bool bar = isatty(STDOUT_FILENO) != 0;
    int64_t began = clock_ms(), shown = began, step;
    enum status status = ops_purge_begin(db, p);

    while (status == ST_OK && (p->next_block == 0 || p->next_block < p->blocks) && !stop_asked()) {
        step = clock_ms();
        db_until(db, step + STEP_MS);
        status = ops_purge_step(db, p, blocks);
        if (clock_ms() - shown >= (bar ? 200 : LINE_MS)) {
            show_progress(p, began, bar);
            shown = clock_ms();
        }
        if (p->next_block < p->blocks)
            pause_for(clock_ms() - step);
    }
    if (bar) {
        show_progress(p, began, bar);
        puts("");
    }
    return status;
}

static enum status read_times(const struct cmd_line *line, struct ops_purge *p, long *blocks)
{
    long payload = 30L * DAY_MS, keys = 400L * DAY_MS;
    enum status status = cmd_time(line->value[PAYLOAD], "--payload", &payload);

    if (status == ST_OK)
        status = cmd_time(line->value[KEYS], "--keys", &keys);
    if (status == ST_OK)
        status = cmd_number(line->value[BLOCKS], "--blocks", 1, 100000, blocks);
    if (status != ST_OK)
        return status;
    if (payload > keys)
        return cmd_fail(ST_USAGE, "--keys must be at least --payload");
    if (keys < (long)RESEND_DAYS * DAY_MS && line->value[FORCE] == NULL)
        return cmd_fail(ST_USAGE,
                        "--keys below %dd: the provider may still send such an event again, and it "
                        "would be new; --force if you mean it",
                        RESEND_DAYS);
    p->payload_seconds = payload / 1000;
    p->keys_seconds = keys / 1000;
    return ST_OK;
}

enum status cmd_purge_run(const struct cmd *cmd, int argc, char **argv)
{
    struct ops_purge p = {0};
    struct cmd_line line;
    struct db *db;
    long blocks = STEP_BLOCKS;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    status = read_times(&line, &p, &blocks);
    if (status == ST_OK)
        status = cmd_db(line.value[CONFIG], line.value[DATABASE], STEP_MS / 1000, &db);
    if (status != ST_OK)
        return status;
    stop_install();
    status = purge(db, &p, (int)blocks);
    if (status != ST_OK)
        (void)cmd_db_fail(db, status);
    printf("%" PRId64 " payloads blanked, %" PRId64 " receipts deleted\n", p.blanked, p.deleted);
    if (status == ST_OK && p.next_block < p.blocks)
        status = cmd_fail(ST_REFUSED, "stopped before the end: run it again to go on");
    db_free(db);
    return status;
}
