#include "database.h"

#include "clock.h"
#include "ops.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char conninfo[1024];

static struct db *open_session(const char *info)
{
    struct db *db = db_new(info);

    cr_assert_not_null(db);
    db_until(db, clock_ms() + TEST_BUDGET_MS);
    cr_assert_eq(db_ready(db), ST_OK, "%s", db_error(db));
    return db;
}

struct db *test_session(void)
{
    const char *server = getenv("DATABASE_URL");
    char sql[128];
    struct db *db;
    int applied;

    cr_assert_not_null(server, "DATABASE_URL must name the tests' private cluster");
    if (conninfo[0] != '\0')
        return open_session(conninfo);
    db = open_session(server);
    snprintf(sql, sizeof(sql), "DROP SCHEMA IF EXISTS unit_%1$ld CASCADE; CREATE SCHEMA unit_%1$ld",
             (long)getpid());
    test_run(db, sql);
    db_free(db);
    snprintf(conninfo, sizeof(conninfo), "%s options='-c search_path=unit_%ld'", server,
             (long)getpid());
    db = open_session(conninfo);
    cr_assert_eq(ops_migrate(db, &applied), ST_OK, "%s", db_error(db));
    return db;
}

const char *test_text(struct db *db, const char *sql)
{
    static char text[4096];
    struct db_rows *rows;
    const char *value;

    db_until(db, clock_ms() + TEST_BUDGET_MS);
    cr_assert_eq(db_query(db, sql, NULL, &rows), ST_OK, "%s: %s", sql, db_error(db));
    cr_assert_gt(db_rows_count(rows), 0, "no row: %s", sql);
    value = db_value(rows, 0, 0);
    snprintf(text, sizeof(text), "%s", value == NULL ? "(null)" : value);
    db_rows_free(rows);
    return text;
}

long test_number(struct db *db, const char *sql)
{
    return strtol(test_text(db, sql), NULL, 10);
}

void test_run(struct db *db, const char *sql)
{
    db_until(db, clock_ms() + TEST_BUDGET_MS);
    cr_assert_eq(db_script(db, sql), ST_OK, "%s: %s", sql, db_error(db));
}

void test_event(const char *text, struct event *event)
{
    static struct test_signed signed_text;

    test_signed_release(&signed_text);
    test_sign(&signed_text, text, strlen(text));
    cr_assert_eq(event_parse(signed_text.verified, event), ST_OK, "%s", text);
}
