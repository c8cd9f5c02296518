/* claim: attempts, leases, back-off, rest (promises 2, 6 and 7). */
#include "claim.h"

#include "clock.h"
#include "database.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* A lease of no time: what one claims is due for the other at once. */
static struct claim_policy policy(int lease_seconds)
{
    struct claim_policy p = claim_policy_default;

    p.lease_seconds = lease_seconds;
    p.limits.statement_ms = 2000;
    return p;
}

static void add_receipts(struct db *db, int from, int to)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload)"
             " SELECT 'stripe', 'billing', 'evt_' || n, 'invoice.paid', jsonb_build_object("
             " 'created', 1760090000, 'data', jsonb_build_object('object', jsonb_build_object("
             " 'id', 'in_' || n, 'amount_paid', 1200 + n, 'currency', 'usd')))"
             " FROM generate_series(%d, %d) AS n",
             from, to);
    test_run(db, sql);
}

static struct claims claim(struct db *db, const struct claim_policy *p)
{
    struct claims claims;

    db_until(db, clock_ms() + TEST_BUDGET_MS);
    cr_assert_eq(db_ready(db), ST_OK, "%s", db_error(db));
    cr_assert_eq(claim_next(db, p, &claims), ST_OK, "%s", db_error(db));
    return claims;
}

static enum status process(struct db *db, const struct claim_policy *p, const struct claims *claims,
                           int i, struct worked *worked)
{
    db_until(db, clock_ms() + TEST_BUDGET_MS);
    return process_claimed(db, p, claims, i, worked);
}

/* Claims one and works it; the outcome. */
static enum status work_one(struct db *db, const struct claim_policy *p, struct worked *worked)
{
    struct claims claims = claim(db, p);
    enum status status;

    cr_assert_eq(claims.count, 1, "%d are due", claims.count);
    status = process(db, p, &claims, 0, worked);
    claims_release(&claims);
    return status;
}

/* The whole way: claimed, counted, worked, and not due any more. */
Test(claim, worked_once)
{
    struct claim_policy p = policy(60);
    struct db *db = test_session();
    struct worked worked;
    struct claims claims;

    add_receipts(db, 1, 1);
    cr_assert_eq(work_one(db, &p, &worked), ST_OK, "%s", worked.error);
    cr_expect_eq(worked.outcome, OUTCOME_PROCESSED);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE attempts = 1"
                                 " AND processed_at IS NOT NULL AND outcome = 'processed'"
                                 " AND last_error IS NULL"),
                 1);
    cr_expect_str_eq(test_text(db, "SELECT amount FROM ledger_entries"), "1201");
    cr_expect_eq(test_number(db, "SELECT count(*) FROM outbox"), 1);
    claims = claim(db, &p);
    cr_expect_eq(claims.count, 0);
    claims_release(&claims);
    db_free(db);
}

/* Promise 7: the attempt is committed before the work, so a death is counted. */
Test(claim, attempt_is_counted_before_the_work)
{
    struct claim_policy p = policy(60);
    struct db *db = test_session(), *other = test_session();
    struct claims claims, none;

    add_receipts(db, 1, 1);
    claims = claim(db, &p);
    cr_expect_eq(test_number(other, "SELECT attempts FROM webhook_inbox"), 1);
    none = claim(other, &p);
    cr_expect_eq(none.count, 0, "the lease keeps it from others");
    claims_release(&claims);
    claims_release(&none);
    db_free(other);
    db_free(db);
}

/* R142, R144: two work one receipt, the lease having run out: one effect, and the slower
 * one changes nothing. */
Test(claim, two_on_one_receipt)
{
    struct claim_policy p = policy(0);
    struct db *a = test_session(), *b = test_session();
    struct claims of_a, of_b;
    struct worked worked;

    add_receipts(a, 1, 1);
    of_a = claim(a, &p);
    of_b = claim(b, &p);
    cr_assert_eq(of_b.count, 1);
    cr_assert_eq(process(b, &p, &of_b, 0, &worked), ST_OK);
    cr_expect_eq(worked.outcome, OUTCOME_PROCESSED);
    cr_assert_eq(process(a, &p, &of_a, 0, &worked), ST_OK);
    cr_expect_eq(worked.outcome, OUTCOME_DUPLICATE);
    cr_expect_eq(test_number(a, "SELECT count(*) FROM ledger_entries"), 1);
    claims_release(&of_a);
    claims_release(&of_b);
    db_free(a);
    db_free(b);
}

/* R144: the slower one fails after the lease was lost: the new owner's state stays. */
Test(claim, a_late_failure_touches_nothing)
{
    struct claim_policy p = policy(0);
    struct db *a = test_session(), *b = test_session();
    struct claims of_a, of_b;
    struct worked worked;

    add_receipts(a, 1, 1);
    of_a = claim(a, &p);
    of_b = claim(b, &p);
    test_run(b, "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'no'; END $$;"
                "CREATE TRIGGER t BEFORE INSERT ON invoices FOR EACH ROW EXECUTE FUNCTION fail()");
    cr_expect_eq(process(a, &p, &of_a, 0, &worked), ST_DB_SQL);
    cr_expect_str_eq(test_text(b, "SELECT attempts || coalesce(last_error, '') FROM webhook_inbox"),
                     "2", "B's attempt is not A's to fail");
    test_run(b, "DROP TRIGGER t ON invoices");
    cr_assert_eq(process(b, &p, &of_b, 0, &worked), ST_OK);
    cr_expect_eq(worked.outcome, OUTCOME_PROCESSED);
    claims_release(&of_a);
    claims_release(&of_b);
    db_free(a);
    db_free(b);
}

/* Nor does a park that comes late: B's work is B's to park or to end. */
Test(claim, a_late_park_touches_nothing)
{
    struct claim_policy p = policy(0);
    struct db *a = test_session(), *b = test_session();
    struct claims of_a, of_b;
    struct worked worked;

    add_receipts(a, 1, 1);
    test_run(a, "UPDATE webhook_inbox SET payload = jsonb_set(payload,"
                " '{data,object,amount_paid}', '\"x\"')");
    of_a = claim(a, &p);
    of_b = claim(b, &p);
    cr_expect_eq(process(a, &p, &of_a, 0, &worked), ST_OK);
    cr_expect_eq(test_number(b, "SELECT count(*) FROM webhook_inbox WHERE available_at = 'infinity'"
                                " OR last_error IS NOT NULL"),
                 0);
    cr_expect_eq(test_number(b, "SELECT count(*) FROM webhook_reviews"), 0);
    cr_assert_eq(process(b, &p, &of_b, 0, &worked), ST_OK);
    cr_expect_eq(worked.outcome, OUTCOME_PARKED);
    claims_release(&of_a);
    claims_release(&of_b);
    db_free(a);
    db_free(b);
}

/* A failure: rolled back, told with SQLSTATE and without payload, due again later. */
Test(claim, failure_is_kept)
{
    struct claim_policy p = policy(60);
    struct db *db = test_session();
    struct worked worked;

    add_receipts(db, 1, 1);
    test_run(db, "ALTER TABLE ledger_entries ADD CONSTRAINT small CHECK (amount < 5)");
    cr_expect_eq(work_one(db, &p, &worked), ST_DB_SQL);
    cr_expect(strncmp(worked.error, "23514 ", 6) == 0, "%s", worked.error);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE processed_at IS NULL"
                                 " AND attempts = 1 AND last_error LIKE '23514 %'"
                                 " AND last_error NOT LIKE '%1201%'"
                                 " AND available_at BETWEEN now() AND now() + interval '2.1 s'"),
                 1, "%s", test_text(db, "SELECT available_at - now() FROM webhook_inbox"));
    cr_expect_eq(test_number(db, "SELECT count(*) FROM invoices"), 0);
    db_free(db);
}

/* R148: the delay grows to five minutes and never overflows. */
Test(claim, backoff_is_bounded)
{
    static const int attempts[] = {0, 1, 5, 8, 9, 20, 30, 63, 64, 1023, 1024, 2000, 2147483647};
    struct db *db = test_session();
    char sql[640];

    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        snprintf(
            sql, sizeof(sql),
            "SELECT (max(d) <= least(300, 2 ^ least(%d, 20)) AND min(d) >= 0 AND max(d) > 0)::int"
            " FROM (SELECT extract(epoch FROM " INBOX_BACKOFF(
                "a") ") AS d"
                     " FROM (SELECT %d AS a FROM generate_series(1, 50)) AS x) AS y",
            attempts[i], attempts[i]);
        cr_expect_eq(test_number(db, sql), 1, "%d", attempts[i]);
    }
    db_free(db);
}

/* Promise 7: at the limit a receipt rests, with a review; given back, it has the same limit. */
Test(claim, rests_at_the_limit)
{
    struct claim_policy p = policy(60);
    struct db *db = test_session();
    struct worked worked;
    struct claims claims;

    p.max_attempts = 3;
    add_receipts(db, 1, 1);
    test_run(db, "ALTER TABLE invoices ADD CONSTRAINT none CHECK (false)");
    for (int round = 1; round <= 2; round++) {
        for (int i = 1; i <= 3; i++) {
            test_run(db, "UPDATE webhook_inbox SET available_at = now()");
            cr_expect_eq(work_one(db, &p, &worked), ST_DB_SQL);
            cr_expect_eq(worked.rests, i == 3);
        }
        cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox"
                                     " WHERE available_at = 'infinity' AND attempts = 3"),
                     1);
        cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_reviews WHERE reason ="
                                     " 'attempts_exhausted' AND resolved_at IS NULL"
                                     " AND detail->>'error' LIKE '23514 %'"),
                     1);
        claims = claim(db, &p);
        cr_expect_eq(claims.count, 0);
        claims_release(&claims);
        test_run(db, "UPDATE webhook_inbox SET attempts = 0;"
                     "UPDATE webhook_reviews SET resolved_at = now()");
    }
    db_free(db);
}

/* R145: the last attempt died with its process: the sweep puts the receipt to rest. */
Test(claim, sweep_finds_the_dead)
{
    struct claim_policy p = policy(0);
    struct db *db = test_session();
    struct claims claims;
    int rested;

    p.max_attempts = 2;
    add_receipts(db, 1, 2);
    for (int i = 0; i < 2; i++) {
        p.batch = 2 - i; /* both, then one of them again: as if its process had died twice */
        claims = claim(db, &p);
        claims_release(&claims);
    }
    db_until(db, clock_ms() + TEST_BUDGET_MS);
    cr_assert_eq(claim_sweep(db, &p, &rested), ST_OK, "%s", db_error(db));
    cr_expect_eq(rested, 1);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE available_at ="
                                 " 'infinity' AND last_error LIKE 'the process ended%'"),
                 1);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_reviews"), 1);
    db_free(db);
}

/* Fresh ones in a batch, oldest first; one that failed before goes alone. */
Test(claim, batches)
{
    struct claim_policy p = policy(60);
    struct db *db = test_session();
    struct claims claims;

    p.batch = 4;
    add_receipts(db, 1, 10);
    test_run(db, "UPDATE webhook_inbox SET available_at = now() - interval '1 h' * "
                 "substr(event_id, 5)::int;"
                 "UPDATE webhook_inbox SET attempts = 1 WHERE event_id IN ('evt_9', 'evt_5')");
    claims = claim(db, &p); /* 10 and those of 9 8 7 that are fresh */
    cr_expect_eq(claims.count, 3);
    for (int i = 0; i < claims.count; i++)
        cr_expect_eq(claim_attempts(&claims, i), 1);
    claims_release(&claims);
    claims = claim(db, &p);
    cr_assert_eq(claims.count, 1, "%d", claims.count);
    cr_expect_str_eq(claim_event_id(&claims, 0), "evt_9");
    claims_release(&claims);
    db_free(db);
}

/* A poison receipt in the middle of a batch: its neighbours are processed. */
Test(claim, poison_in_a_batch)
{
    struct claim_policy p = policy(60);
    struct db *db = test_session();
    struct claims claims;
    struct worked worked;

    add_receipts(db, 1, 9);
    test_run(db, "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                 " PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;"
                 "CREATE TRIGGER t BEFORE INSERT ON invoices FOR EACH ROW WHEN (NEW.id = 'in_5')"
                 " EXECUTE FUNCTION die()");
    claims = claim(db, &p);
    cr_assert_eq(claims.count, 9);
    for (int i = 0; i < claims.count; i++) {
        bool poison = strcmp(claim_event_id(&claims, i), "evt_5") == 0;

        cr_assert_eq(db_ready(db), ST_OK);
        cr_expect_eq(process(db, &p, &claims, i, &worked), poison ? ST_DB_LOST : ST_OK, "%s",
                     claim_event_id(&claims, i));
    }
    claims_release(&claims);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM ledger_entries"), 8);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE event_id = 'evt_5'"
                                 " AND processed_at IS NULL AND last_error LIKE '57P01 %'"),
                 1, "%s",
                 test_text(db, "SELECT last_error FROM webhook_inbox WHERE event_id = 'evt_5'"));
    db_free(db);
}

/* What was claimed and not begun is given back as it was. */
Test(claim, give_back)
{
    struct claim_policy p = policy(60);
    struct db *db = test_session();
    struct claims claims;

    add_receipts(db, 1, 5);
    claims = claim(db, &p);
    cr_assert_eq(claims.count, 5);
    claim_give_back(db, &p, &claims, 2);
    claims_release(&claims);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE attempts = 0"
                                 " AND available_at <= now()"),
                 3);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE attempts = 1"
                                 " AND available_at > now()"),
                 2);
    db_free(db);
}

/* Async leaves the work; a repeat of what waits is a duplicate; the worker's effect is one. */
Test(claim, receipt_of_an_async_delivery)
{
    static const char text[] =
        "{\"id\":\"evt_1\",\"type\":\"invoice.paid\",\"created\":1760090000,\"livemode\":true,"
        "\"big\":12345678901234567890123,"
        "\"data\":{\"object\":{\"id\":\"in_1\",\"customer\":\"cus_1\",\"amount_paid\":1200}}}";
    struct claim_policy p = policy(60);
    struct db *db = test_session();
    struct receipt receipt = {"stripe", "billing", NULL};
    struct received received;
    struct worked worked;
    struct event event;

    test_event(text, &event);
    receipt.event = &event;
    db_until(db, clock_ms() + TEST_BUDGET_MS);
    cr_assert_eq(receive_async(db, &receipt, NULL, &received), ST_OK, "%s", db_error(db));
    cr_expect_eq(received.outcome, OUTCOME_ACCEPTED);
    cr_assert_eq(receive_async(db, &receipt, NULL, &received), ST_OK);
    cr_expect_eq(received.outcome, OUTCOME_DUPLICATE);
    cr_assert_eq(receive_sync(db, &receipt, handler_find("stripe", event.type), &received), ST_OK);
    cr_expect_eq(received.outcome, OUTCOME_DUPLICATE);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM ledger_entries"), 0);
    cr_assert_eq(work_one(db, &p, &worked), ST_OK);
    cr_expect_eq(worked.outcome, OUTCOME_PROCESSED);
    cr_expect_str_eq(test_text(db,
                               "SELECT status || ' ' || customer_id || ' ' || livemode || ' ' ||"
                               " extract(epoch FROM paid_at)::bigint FROM invoices"),
                     "paid cus_1 true 1760090000");
    cr_expect_eq(test_number(db, "SELECT count(*) FROM ledger_entries"), 1);
    event_release(&event);
    db_free(db);
}

/* A message in any language, cut inside a character, is kept all the same. */
Test(claim, long_messages_are_kept)
{
    struct claim_policy p = policy(60);
    struct db *db = test_session();
    struct worked worked;

    add_receipts(db, 1, 3);
    for (int shift = 0; shift < 3; shift++) {
        char sql[256];

        snprintf(sql, sizeof(sql),
                 "CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
                 " $$ BEGIN RAISE EXCEPTION '%.*s%%', repeat('\xe2\x82\xac', 400); END $$;"
                 "CREATE OR REPLACE TRIGGER t BEFORE INSERT ON invoices FOR EACH ROW"
                 " EXECUTE FUNCTION fail()",
                 shift, "xx");
        test_run(db, sql);
        p.batch = 1;
        cr_expect_eq(work_one(db, &p, &worked), ST_DB_SQL);
        cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE last_error LIKE"
                                     " 'P0001 %\xe2\x82\xac'"),
                     shift + 1, "shifted by %d", shift);
        test_run(db, "UPDATE webhook_inbox SET available_at = now() + interval '1 h'"
                     " WHERE last_error IS NOT NULL");
    }
    db_free(db);
}

/* A receipt that cannot be applied as it is goes to rest at once; an unknown type is ignored. */
Test(claim, parked_and_ignored)
{
    struct claim_policy p = policy(60);
    struct db *db = test_session();
    struct worked worked;

    add_receipts(db, 1, 1);
    test_run(db, "UPDATE webhook_inbox SET payload = jsonb_set(payload,"
                 " '{data,object,amount_paid}', '\"x\"')");
    cr_assert_eq(work_one(db, &p, &worked), ST_OK, "%s", worked.error);
    cr_expect_eq(worked.outcome, OUTCOME_PARKED);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE processed_at IS NULL AND"
                                 " available_at = 'infinity' AND last_error = 'parked:"
                                 " data.object.amount_paid is no integer of 64 bits'"),
                 1);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_reviews WHERE reason = 'parked'"),
                 1);
    add_receipts(db, 2, 2);
    test_run(db, "UPDATE webhook_inbox SET event_type = 'a.b' WHERE event_id = 'evt_2'");
    cr_assert_eq(work_one(db, &p, &worked), ST_OK);
    cr_expect_eq(worked.outcome, OUTCOME_IGNORED);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE outcome = 'ignored'"),
                 1);
    db_free(db);
}
