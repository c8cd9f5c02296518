/* inbox: receipt and effect, together or not at all (promises 1, 2 and 6). */
#include "inbox.h"

#include "clock.h"
#include "database.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char paid[] =
    "{\"id\":\"evt_1\",\"type\":\"invoice.paid\",\"created\":1760090000,\"livemode\":true,"
    "\"data\":{\"object\":{\"id\":\"in_1\",\"customer\":\"cus_1\",\"amount_paid\":1200}}}";

static enum status receive(struct db *db, const char *text, struct received *received)
{
    struct receipt receipt = {"stripe", "billing", NULL};
    struct event event;
    enum status status;

    test_event(text, &event);
    receipt.event = &event;
    db_until(db, clock_ms() + TEST_BUDGET_MS);
    status = db_ready(db);
    if (status == ST_OK)
        status = receive_sync(db, &receipt, handler_find("stripe", event.type), received);
    event_release(&event);
    return status;
}

static void expect_counts(struct db *db, long receipts, long ledger, long outbox)
{
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox"), receipts);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM ledger_entries"), ledger);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM outbox"), outbox);
}

/* Promise 1: everything of one delivery is there when it says processed. */
Test(inbox, first_delivery_is_processed)
{
    struct db *db = test_session();
    struct received received;

    cr_assert_eq(receive(db, paid, &received), ST_OK, "%s", db_error(db));
    cr_expect_eq(received.outcome, OUTCOME_PROCESSED);
    expect_counts(db, 1, 1, 1);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE processed_at IS NOT NULL"
                                 " AND outcome = 'processed' AND attempts = 0"
                                 " AND livemode AND account IS NULL AND raw_body IS NULL"),
                 1);
    db_free(db);
}

/* A repeat is a duplicate, is counted, and changes nothing else. */
Test(inbox, repeats_are_counted)
{
    struct db *db = test_session();
    struct received received;

    cr_assert_eq(receive(db, paid, &received), ST_OK);
    for (int i = 0; i < 45; i++) {
        cr_assert_eq(receive(db, paid, &received), ST_OK);
        cr_assert_eq(received.outcome, OUTCOME_DUPLICATE);
        cr_assert_not(received.other_body);
    }
    expect_counts(db, 1, 1, 1);
    cr_expect_eq(test_number(db, "SELECT deliveries FROM webhook_inbox"), 46);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox"
                                 " WHERE last_delivery_at > received_at"),
                 1);
    db_free(db);
}

/* R80, R113: the id decides, not the body; a body that says something else is told. */
Test(inbox, same_id_other_body)
{
    static const char pending[] =
        "{\"type\":\"invoice.paid\", \"id\":\"evt_1\",\"pending_webhooks\":3,"
        "\"created\":1760090000,\"livemode\":true,"
        "\"data\":{\"object\":{\"id\":\"in_1\",\"customer\":\"cus_1\",\"amount_paid\":1200}}}";
    static const char other[] = "{\"id\":\"evt_1\",\"type\":\"invoice.paid\","
                                "\"data\":{\"object\":{\"id\":\"in_2\",\"amount_paid\":9}}}";
    struct db *db = test_session();
    struct received received;

    cr_assert_eq(receive(db, paid, &received), ST_OK);
    cr_assert_eq(receive(db, pending, &received), ST_OK);
    cr_expect_eq(received.outcome, OUTCOME_DUPLICATE);
    cr_expect_not(received.other_body, "order, blanks and pending_webhooks do not count");
    cr_assert_eq(receive(db, other, &received), ST_OK);
    cr_expect_eq(received.outcome, OUTCOME_DUPLICATE);
    cr_expect(received.other_body);
    expect_counts(db, 1, 1, 1);
    db_free(db);
}

/* The same event on two endpoints, and one id from two providers, are receipts of their own. */
Test(inbox, the_key_is_provider_endpoint_and_id)
{
    static const struct {
        const char *provider, *endpoint;
    } keys[] = {{"stripe", "billing"}, {"stripe", "other"}, {"svix", "billing"}};
    struct db *db = test_session();

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct receipt receipt = {keys[i].provider, keys[i].endpoint, NULL};
        struct received received;
        struct event event;

        test_event(paid, &event);
        receipt.event = &event;
        db_until(db, clock_ms() + TEST_BUDGET_MS);
        cr_assert_eq(
            receive_sync(db, &receipt, handler_find(keys[i].provider, event.type), &received),
            ST_OK, "%s", db_error(db));
        cr_expect_neq(received.outcome, OUTCOME_DUPLICATE, "%s %s", keys[i].provider,
                      keys[i].endpoint);
        event_release(&event);
    }
    expect_counts(db, 3, 1, 1);
    db_free(db);
}

/* Promise 2, the article's test: eight sessions deliver one event at the same moment. */
static void race(struct db *db, int expected_processed, int expected_failed)
{
    int go[2], processed = 0, duplicate = 0, failed = 0;

    cr_assert_eq(pipe(go), 0);
    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            struct db *own = test_session();
            struct received received = {.outcome = OUTCOME_IGNORED};
            enum status status;
            char byte;

            (void)!read(go[0], &byte, 1);
            status = receive(own, paid, &received);
            _exit(status == ST_OK ? 10 + (int)received.outcome : 1);
        }
    }
    usleep(300000); /* all of them wait at the barrier */
    cr_assert_eq(write(go[1], "12345678", 8), 8);
    for (int i = 0; i < 8; i++) {
        int code;

        wait(&code);
        processed += WEXITSTATUS(code) == 10 + OUTCOME_PROCESSED;
        duplicate += WEXITSTATUS(code) == 10 + OUTCOME_DUPLICATE;
        failed += WEXITSTATUS(code) == 1;
    }
    cr_expect_eq(processed, expected_processed, "processed %d", processed);
    cr_expect_eq(failed, expected_failed, "failed %d", failed);
    cr_expect_eq(duplicate, 8 - expected_processed - expected_failed, "duplicate %d", duplicate);
    expect_counts(db, 1, 1, 1);
    close(go[0]);
    close(go[1]);
}

Test(inbox, eight_at_the_same_moment)
{
    struct db *db = test_session();

    race(db, 1, 0);
    cr_expect_eq(test_number(db, "SELECT deliveries FROM webhook_inbox"), 8);
    db_free(db);
}

/* The first one fails: exactly one of those that waited for it is processed. */
Test(inbox, eight_and_the_first_one_fails)
{
    struct db *db = test_session();

    test_run(db, "CREATE SEQUENCE turn;"
                 "CREATE FUNCTION fail_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                 "  IF nextval('turn') = 1 THEN PERFORM pg_sleep(0.3);"
                 "    RAISE EXCEPTION 'the first one fails'; END IF; RETURN NEW; END $$;"
                 "CREATE TRIGGER t BEFORE INSERT ON invoices FOR EACH ROW"
                 " EXECUTE FUNCTION fail_first()");
    race(db, 1, 1);
    db_free(db);
}

/* R101, R103, R104: wherever the statement fails, nothing of the delivery is left, and the
 * next one is processed. */
Test(inbox, a_failure_leaves_nothing)
{
    static const char *const tables[] = {"webhook_inbox", "invoices", "ledger_entries", "outbox"};
    struct db *db = test_session();
    struct received received;
    char sql[256];

    test_run(db, "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
                 " $$ BEGIN RAISE EXCEPTION 'no'; END $$");
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        snprintf(sql, sizeof(sql),
                 "CREATE TRIGGER t AFTER INSERT ON %s FOR EACH ROW EXECUTE FUNCTION fail()",
                 tables[i]);
        test_run(db, sql);
        cr_expect_eq(receive(db, paid, &received), ST_DB_SQL, "%s", tables[i]);
        cr_expect_str_eq(db_error(db), "P0001 no");
        expect_counts(db, 0, 0, 0);
        cr_expect_eq(test_number(db, "SELECT count(*) FROM invoices"), 0);
        snprintf(sql, sizeof(sql), "DROP TRIGGER t ON %s", tables[i]);
        test_run(db, sql);
    }
    cr_expect_eq(receive(db, paid, &received), ST_OK);
    cr_expect_eq(received.outcome, OUTCOME_PROCESSED);
    expect_counts(db, 1, 1, 1);
    db_free(db);
}

/* A table or a right that is missing is told apart from a handler that fails. */
Test(inbox, missing_tables_are_told)
{
    struct db *db = test_session();
    struct received received;

    test_run(db, "DROP TABLE outbox");
    cr_expect_eq(receive(db, paid, &received), ST_DB_SCHEMA, "%s", db_error(db));
    db_free(db);
}

/* Promise 6: the session dies at each table's turn; then the event is delivered again. */
Test(inbox, a_session_that_dies_loses_nothing)
{
    static const char *const tables[] = {"webhook_inbox", "invoices", "ledger_entries", "outbox"};
    struct db *db = test_session();
    struct received received;
    char sql[256];

    test_run(db, "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                 " PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$");
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        struct db *victim = test_session();

        snprintf(sql, sizeof(sql),
                 "CREATE TRIGGER t AFTER INSERT ON %s FOR EACH ROW EXECUTE FUNCTION die()",
                 tables[i]);
        test_run(db, sql);
        cr_expect_eq(receive(victim, paid, &received), ST_DB_LOST, "%s", tables[i]);
        expect_counts(db, 0, 0, 0);
        snprintf(sql, sizeof(sql), "DROP TRIGGER t ON %s", tables[i]);
        test_run(db, sql);
        cr_expect_eq(receive(victim, paid, &received), ST_OK, "%s", db_error(victim));
        cr_expect_eq(received.outcome, OUTCOME_PROCESSED, "%s", tables[i]);
        expect_counts(db, 1, 1, 1);
        test_run(db, "TRUNCATE webhook_inbox, invoices, ledger_entries, outbox");
        db_free(victim);
    }
    db_free(db);
}

/* What jsonb cannot hold: the payload has replacements, raw_body the exact bytes. */
Test(inbox, exact_bytes_are_kept)
{
    static const char text[] =
        "{\"id\":\"evt_1\",\"type\":\"invoice.paid\",\"n\":12345678901234567890123.50,"
        "\"big\":1e999999,\"u\":\"a\\u0000b \\ud83d c \\ud83d\\ude00\","
        "\"data\":{\"object\":{\"id\":\"in_1\",\"amount_paid\":5}}}";
    struct db *db = test_session();
    struct received received;

    cr_assert_eq(receive(db, text, &received), ST_OK, "%s", db_error(db));
    cr_expect_eq(received.outcome, OUTCOME_PROCESSED);
    cr_expect_str_eq(test_text(db, "SELECT payload->>'n' FROM webhook_inbox"),
                     "12345678901234567890123.50");
    cr_expect_str_eq(test_text(db, "SELECT payload->>'u' FROM webhook_inbox"),
                     "a\xef\xbf\xbd"
                     "b \xef\xbf\xbd c \xf0\x9f\x98\x80");
    cr_expect_str_eq(test_text(db, "SELECT jsonb_typeof(payload->'big') FROM webhook_inbox"),
                     "null");
    cr_expect_str_eq(test_text(db, "SELECT convert_from(raw_body, 'UTF8') FROM webhook_inbox"),
                     text);
    db_free(db);
}

/* A time that no calendar has is no reason to fail for ever. */
Test(inbox, created_out_of_range)
{
    static const char text[] =
        "{\"id\":\"evt_1\",\"type\":\"invoice.paid\",\"created\":1760090000000000,"
        "\"data\":{\"object\":{\"id\":\"in_1\",\"amount_paid\":5}}}";
    struct db *db = test_session();
    struct received received;

    cr_assert_eq(receive(db, text, &received), ST_OK, "%s", db_error(db));
    cr_expect_eq(received.outcome, OUTCOME_PROCESSED);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM invoices WHERE paid_at = updated_at"), 1);
    db_free(db);
}

/* An event without a handler is recorded and ignored. */
Test(inbox, unknown_types_are_ignored)
{
    struct db *db = test_session();
    struct received received;

    cr_assert_eq(receive(db, "{\"id\":\"evt_1\",\"type\":\"a.b\"}", &received), ST_OK);
    cr_expect_eq(received.outcome, OUTCOME_IGNORED);
    cr_expect_str_eq(test_text(db, "SELECT outcome FROM webhook_inbox"), "ignored");
    expect_counts(db, 1, 0, 0);
    db_free(db);
}

/* A parked event is a duplicate when it comes again: it is ours now. */
Test(inbox, parked_once)
{
    static const char bad[] = "{\"id\":\"evt_1\",\"type\":\"invoice.paid\","
                              "\"data\":{\"object\":{\"id\":\"in_1\",\"amount_paid\":\"5\"}}}";
    struct db *db = test_session();
    struct received received;

    cr_assert_eq(receive(db, bad, &received), ST_OK, "%s", db_error(db));
    cr_expect_eq(received.outcome, OUTCOME_PARKED);
    cr_expect_str_eq(received.parked.why, "data.object.amount_paid is no integer of 64 bits");
    cr_assert_eq(receive(db, bad, &received), ST_OK);
    cr_expect_eq(received.outcome, OUTCOME_DUPLICATE);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_reviews"), 1);
    expect_counts(db, 1, 0, 0);
    db_free(db);
}
