/* handler_invoice: exact money, and the end state whatever the order (promises 3, 4, 8). */
#include "clock.h"
#include "database.h"
#include "handler.h"
#include "inbox.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Receives an invoice event made of a type, an id and the invoice's members. */
static enum outcome receive(struct db *db, const char *id, const char *type, const char *members)
{
    struct receipt receipt = {"stripe", "billing", NULL};
    struct received received;
    struct event event;
    char text[2048];
    enum status status;

    snprintf(text, sizeof(text),
             "{\"id\":\"%s\",\"type\":\"%s\",\"created\":1760090000,\"livemode\":true,"
             "\"data\":{\"object\":{%s}}}",
             id, type, members);
    test_event(text, &event);
    receipt.event = &event;
    db_until(db, clock_ms() + TEST_BUDGET_MS);
    status = receive_sync(db, &receipt, handler_find("stripe", event.type), &received);
    cr_assert_eq(status, ST_OK, "%s: %s", text, db_error(db));
    event_release(&event);
    return received.outcome;
}

static void forget(struct db *db)
{
    test_run(db, "TRUNCATE webhook_inbox, webhook_reviews, outbox, invoices, ledger_entries");
}

/* Promise 8: what is no integer of 64 bits in minor units books nothing and is parked, with the
 * field named. */
Test(handler_invoice, amounts_are_exact_or_parked)
{
    static const struct {
        const char *amount;
        enum outcome outcome;
        const char *booked;
    } cases[] = {
        {"2000", OUTCOME_PROCESSED, "2000"},
        {"9223372036854775807", OUTCOME_PROCESSED, "9223372036854775807"},
        {"0", OUTCOME_PROCESSED, NULL},
        {"9223372036854775808", OUTCOME_PARKED, NULL},
        {"18446744073709551616", OUTCOME_PARKED, NULL},
        {"9223372036854775808.0", OUTCOME_PARKED, NULL},
        {"1e30", OUTCOME_PARKED, NULL},
        {"2e3", OUTCOME_PARKED, NULL},
        {"20.5", OUTCOME_PARKED, NULL},
        {"20.0", OUTCOME_PARKED, NULL},
        {"\"2000\"", OUTCOME_PARKED, NULL},
        {"true", OUTCOME_PARKED, NULL},
        {"null", OUTCOME_PARKED, NULL},
        {"-5", OUTCOME_PARKED, NULL},
        {"-9223372036854775809", OUTCOME_PARKED, NULL},
        {"1e999999", OUTCOME_PARKED, NULL},
        {"[]", OUTCOME_PARKED, NULL},
    };
    struct db *db = test_session();
    char members[256];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        snprintf(members, sizeof(members),
                 "\"id\":\"in_1\",\"currency\":\"usd\",\"amount_paid\":%s", cases[i].amount);
        cr_expect_eq(receive(db, "evt_1", "invoice.paid", members), cases[i].outcome, "%s",
                     cases[i].amount);
        cr_expect_eq(test_number(db, "SELECT count(*) FROM ledger_entries"),
                     cases[i].booked != NULL, "%s", cases[i].amount);
        if (cases[i].booked != NULL)
            cr_expect_str_eq(test_text(db, "SELECT amount FROM ledger_entries"), cases[i].booked);
        cr_expect_eq(test_number(db,
                                 "SELECT count(*) FROM webhook_reviews WHERE reason = 'parked'"
                                 " AND detail->>'error' LIKE 'parked: data.object.amount_paid %'"),
                     cases[i].outcome == OUTCOME_PARKED, "%s", cases[i].amount);
        cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox"
                                     " WHERE processed_at IS NULL AND available_at = 'infinity'"
                                     " AND last_error LIKE 'parked: %'"),
                     cases[i].outcome == OUTCOME_PARKED, "%s", cases[i].amount);
        forget(db);
    }
    db_free(db);
}

/* What the handler needs and cannot read parks the event; what it can do without does not. */
Test(handler_invoice, shapes_of_the_object)
{
    static const struct {
        const char *type, *members;
        enum outcome outcome;
        const char *customer; /* with OUTCOME_PROCESSED */
    } cases[] = {
        {"invoice.created", "\"id\":\"in_1\"", OUTCOME_PROCESSED, "(null)"},
        {"invoice.created", "\"id\":\"in_1\",\"customer\":\"cus_1\"", OUTCOME_PROCESSED, "cus_1"},
        {"invoice.created", "\"id\":\"in_1\",\"customer\":null", OUTCOME_PROCESSED, "(null)"},
        {"invoice.created", "\"id\":\"in_1\",\"customer\":{\"id\":\"cus_2\",\"deleted\":true}",
         OUTCOME_PROCESSED, "cus_2"},
        {"invoice.created", "\"id\":\"in_1\",\"customer\":7", OUTCOME_PARKED, NULL},
        {"invoice.created", "\"id\":\"in_1\",\"status\":\"new\"", OUTCOME_PARKED, NULL},
        {"invoice.created", "\"id\":null", OUTCOME_PARKED, NULL},
        {"invoice.paid", "\"amount_paid\":1", OUTCOME_PARKED, NULL},
        {"invoice.paid", "\"id\":\"in_1\"", OUTCOME_PARKED, NULL},
        {"invoice.paid", "\"id\":\"in_1\",\"amount_paid\":1,\"currency\":5", OUTCOME_PARKED, NULL},
        {"invoice.paid", "\"id\":\"in_1\",\"amount_paid\":1", OUTCOME_PROCESSED, "(null)"},
        {"invoice.payment_failed", "\"id\":null", OUTCOME_PARKED, NULL},
        {"invoice.upcoming", "\"customer\":\"cus_1\"", OUTCOME_IGNORED, NULL},
        {"invoice.payment_succeeded", "\"id\":\"in_1\"", OUTCOME_IGNORED, NULL},
    };
    struct db *db = test_session();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cr_expect_eq(receive(db, "evt_1", cases[i].type, cases[i].members), cases[i].outcome,
                     "%s %s", cases[i].type, cases[i].members);
        cr_expect_eq(test_number(db, "SELECT count(*) FROM invoices"),
                     cases[i].outcome == OUTCOME_PROCESSED, "%s", cases[i].members);
        if (cases[i].outcome == OUTCOME_PROCESSED)
            cr_expect_str_eq(test_text(db, "SELECT customer_id FROM invoices"), cases[i].customer,
                             "%s", cases[i].members);
        forget(db);
    }
    db_free(db);
}

/* One event of the invoice's life, by a letter. */
static void tell(struct db *db, char letter, int serial)
{
    static const struct {
        char letter;
        const char *type, *members;
    } events[] = {
        {'c', "invoice.created", "\"status\":\"draft\""},
        {'f', "invoice.finalized", "\"status\":\"open\""},
        {'u', "invoice.updated", "\"status\":\"open\",\"amount_paid\":800"},
        {'p', "invoice.paid", "\"status\":\"paid\",\"amount_paid\":2000"},
        {'s', "invoice.payment_succeeded", "\"status\":\"paid\",\"amount_paid\":2000"},
        {'x', "invoice.payment_failed", "\"status\":\"open\""},
        {'v', "invoice.voided", "\"status\":\"void\""},
        {'n', "invoice.marked_uncollectible", "\"status\":\"uncollectible\""},
        {'d', "invoice.deleted", "\"status\":\"draft\""},
    };
    char members[256], id[32];

    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        if (events[i].letter != letter)
            continue;
        snprintf(id, sizeof(id), "evt_%c%d", letter, serial);
        snprintf(members, sizeof(members),
                 "\"id\":\"in_1\",\"customer\":\"cus_1\",\"currency\":\"usd\",%s",
                 events[i].members);
        receive(db, id, events[i].type, members);
        return;
    }
    cr_assert_fail("no event %c", letter);
}

/* The rows that count, as one text: what every order must agree on. */
static const char end_state[] =
    "SELECT concat_ws(' ', status, amount_paid, coalesce(extract(epoch FROM paid_at)::bigint, 0),"
    " customer_id, (SELECT coalesce(sum(amount), 0) FROM ledger_entries),"
    " (SELECT count(*) FROM ledger_entries), (SELECT count(*) FROM outbox),"
    " (SELECT string_agg(reason, ',') FROM webhook_reviews)) FROM invoices WHERE id = 'in_1'";

/* Tells every permutation of the letters behind the first `done` ones. */
static void every_order(struct db *db, char *letters, size_t done,
                        void (*check)(struct db *, const char *))
{
    size_t len = strlen(letters);

    if (done == len) {
        for (size_t i = 0; i < len; i++)
            tell(db, letters[i], 0);
        check(db, letters);
        forget(db);
        return;
    }
    for (size_t i = done; i < len; i++) {
        char kept = letters[done];

        letters[done] = letters[i];
        letters[i] = kept;
        every_order(db, letters, done + 1, check);
        letters[i] = letters[done];
        letters[done] = kept;
    }
}

static void expect_paid(struct db *db, const char *order)
{
    const char *got = test_text(db, end_state);

    cr_expect_str_eq(got, "paid 2000 1760090000 cus_1 2000 1 1", "order %s: %s", order, got);
}

/* Promise 4: an invoice that was paid ends paid, booked once, in all 720 orders. */
Test(handler_invoice, any_order_of_a_paid_invoice)
{
    char letters[] = "cfpusx";
    struct db *db = test_session();

    every_order(db, letters, 0, expect_paid);
    db_free(db);
}

static void expect_uncollectible_then_paid(struct db *db, const char *order)
{
    expect_paid(db, order);
}

/* Uncollectible may still be paid, in whatever order the two are told. */
Test(handler_invoice, any_order_of_uncollectible_and_paid)
{
    char letters[] = "cfnp";
    struct db *db = test_session();

    every_order(db, letters, 0, expect_uncollectible_then_paid);
    db_free(db);
}

static void expect_void(struct db *db, const char *order)
{
    const char *got = test_text(db, end_state);

    cr_expect_str_eq(got, "void 0 0 cus_1 0 0 0", "order %s: %s", order, got);
}

/* A voided invoice, and a deleted draft, end void and book nothing. */
Test(handler_invoice, any_order_of_a_void_invoice)
{
    char voided[] = "cfuv", deleted[] = "cd";
    struct db *db = test_session();

    every_order(db, voided, 0, expect_void);
    every_order(db, deleted, 0, expect_void);
    db_free(db);
}

/* Paid and void contradict each other: the first of the two stays, and a person is told. */
static void expect_contradiction(struct db *db, const char *order)
{
    bool paid_first = strchr(order, 'p') < strchr(order, 'v');
    const char *got = test_text(db, end_state);

    cr_expect_str_eq(got,
                     paid_first ? "paid 2000 1760090000 cus_1 2000 1 1 void_for_paid_invoice"
                                : "void 0 0 cus_1 0 0 0 payment_for_void_invoice",
                     "order %s: %s", order, got);
}

/* All permutations of created, finalized, paid and voided. */
Test(handler_invoice, any_order_of_paid_and_void)
{
    char letters[] = "cfpv";
    struct db *db = test_session();

    every_order(db, letters, 0, expect_contradiction);
    db_free(db);
}

/* Promise 3: two event ids for one payment book once; the earliest time of payment stays. */
Test(handler_invoice, two_events_for_one_payment)
{
    struct db *db = test_session();

    tell(db, 'p', 1);
    tell(db, 'p', 2);
    expect_paid(db, "pp");
    cr_expect_eq(test_number(db, "SELECT count(*) FROM webhook_inbox WHERE outcome = 'processed'"),
                 2);
    cr_expect_str_eq(test_text(db, "SELECT event_id FROM ledger_entries"), "evt_p1");
    cr_expect_str_eq(test_text(db, "SELECT idempotency_key FROM outbox"),
                     "webhook:evt_p1:InvoicePaymentBooked");
    db_free(db);
}

/* The amount of money keeps its currency: no factor of 100 for yen (R83). */
Test(handler_invoice, currency_is_kept)
{
    struct db *db = test_session();

    receive(db, "evt_1", "invoice.paid",
            "\"id\":\"in_1\",\"amount_paid\":500,\"currency\":\"jpy\"");
    cr_expect_str_eq(test_text(db, "SELECT amount || currency FROM ledger_entries"), "500jpy");
    cr_expect_str_eq(test_text(db, "SELECT payload::text FROM outbox"),
                     "{\"amount\": 500, \"currency\": \"jpy\", \"invoice_id\": \"in_1\"}");
    db_free(db);
}
