/* ops: the tables come once, also from several hosts at once. */
#include "ops.h"

#include "clock.h"
#include "database.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A second run finds nothing to do. */
Test(ops, migrate_applies_once)
{
    struct db *db = test_session();
    int applied = -1;

    cr_assert_eq(ops_migrate(db, &applied), ST_OK);
    cr_expect_eq(applied, 0);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM schema_migrations"), (long)migrations_count);
    db_free(db);
}

/* Several at once: each ends well, and every file was applied by one of them. */
Test(ops, migrate_from_several_hosts)
{
    struct db *db = test_session();
    int total = 0;

    test_run(db, "DROP TABLE webhook_inbox, webhook_reviews, outbox, invoices, ledger_entries,"
                 " webhook_handlers, schema_migrations");
    test_run(db, "DROP FUNCTION webhook_handlers_check, webhook_call");
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            struct db *own = test_session();
            int applied = 99;

            _exit(ops_migrate(own, &applied) == ST_OK ? applied : 99);
        }
    }
    for (int i = 0; i < 4; i++) {
        int code = 0;

        wait(&code);
        cr_expect(WIFEXITED(code) && WEXITSTATUS(code) < 99, "one failed");
        total += WEXITSTATUS(code);
    }
    cr_expect_eq(total, (int)migrations_count);
    db_free(db);
}

/* A migration that fails leaves nothing of itself. */
Test(ops, migrate_is_all_or_nothing)
{
    struct db *db = test_session(), *again;
    int applied;

    test_run(db, "DROP TABLE webhook_inbox, webhook_reviews, outbox, ledger_entries,"
                 " schema_migrations"); /* invoices stays, so 002 fails */
    cr_expect_neq(ops_migrate(db, &applied), ST_OK);
    db_free(db);
    again = test_session();
    cr_expect_str_eq(test_text(again, "SELECT to_regclass('webhook_inbox') IS NULL"), "t");
    db_free(again);
}

/* The numbers are those of the tables. */
Test(ops, status_counts)
{
    struct db *db = test_session();
    struct ops_status s;
    struct db_rows *types;

    test_run(db, "INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload,"
                 " available_at, deliveries, processed_at, received_at) VALUES"
                 " ('p','e','1','a','{}', now(), 3, now(), now()),"
                 " ('p','e','2','a','{}', 'infinity', 1, NULL, now()),"
                 " ('p','e','3','b','{}', now(), 1, NULL, now() - interval '2 hours');"
                 "INSERT INTO webhook_reviews (provider, endpoint, event_id, reason)"
                 " VALUES ('p','e','2','parked')");
    db_until(db, clock_ms() + TEST_BUDGET_MS);
    cr_assert_eq(ops_status(db, &s), ST_OK, "%s", db_error(db));
    cr_expect_eq(s.unprocessed, 2);
    cr_expect_eq(s.resting, 1);
    cr_expect_geq(s.oldest_seconds, 7200);
    cr_expect_eq(s.reviews, 1);
    cr_expect_eq(s.hour_events, 2);
    cr_expect_eq(s.hour_repeats, 2);
    cr_assert_eq(ops_hour_by_type(db, &types), ST_OK);
    cr_expect_eq(db_rows_count(types), 1);
    cr_expect_str_eq(db_value(types, 0, 0), "a");
    db_rows_free(types);
    db_free(db);
}
