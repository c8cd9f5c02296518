/* The invoice's life. Every event of it carries the whole invoice, so one effect serves
 * all: insert the invoice if it is not there, move its status forward, and, for
 * invoice.paid alone, book the payment.
 *
 * The end state does not depend on the order of delivery: a status only moves along
 * draft -> open -> uncollectible -> paid | void, paid_at is the earliest payment's time,
 * and the ledger's key (invoice, kind) takes one payment, under whatever event id. */
#include "handler.h"

#include "field.h"

#include <string.h>

/* $11 invoice, $12 customer, $13 status, $14 amount paid, $15 time of payment,
 * $16 currency, $17 whether this event books a payment.
 * The upsert has no WHERE, so that it always returns the row as it now is. */
static const char invoice_effect[] =
    ", invoice AS (\n"
    "  INSERT INTO invoices AS i (id, customer_id, status, amount_paid, paid_at,\n"
    "                             currency, livemode, account)\n"
    "  SELECT $11, $12, $13, $14,\n"
    "         CASE WHEN $17 THEN coalesce(to_timestamp($15), now()) END,\n"
    "         $16, livemode, account\n"
    "    FROM receipt\n"
    "  ON CONFLICT (id) DO UPDATE SET\n"
    "    status = CASE\n"
    "      WHEN i.status IN ('paid', 'void') THEN i.status\n"
    "      WHEN excluded.status IN ('paid', 'void') THEN excluded.status\n"
    "      WHEN 'uncollectible' IN (i.status, excluded.status) THEN 'uncollectible'\n"
    "      WHEN 'open' IN (i.status, excluded.status) THEN 'open'\n"
    "      ELSE 'draft' END,\n"
    "    amount_paid = CASE WHEN i.status = 'void' THEN i.amount_paid\n"
    "                       ELSE greatest(i.amount_paid, excluded.amount_paid) END,\n"
    "    paid_at = CASE WHEN i.status = 'void' THEN i.paid_at\n"
    "                   ELSE least(i.paid_at, excluded.paid_at) END,\n"
    "    customer_id = coalesce(i.customer_id, excluded.customer_id),\n"
    "    currency = coalesce(i.currency, excluded.currency),\n"
    "    livemode = coalesce(i.livemode, excluded.livemode),\n"
    "    account = coalesce(i.account, excluded.account),\n"
    "    updated_at = now()\n"
    "  RETURNING i.id, i.status\n"
    "), booking AS (\n"
    "  INSERT INTO ledger_entries (invoice_id, kind, amount, currency, event_id)\n"
    "  SELECT invoice.id, 'payment', $14, $16, receipt.event_id\n"
    "    FROM invoice, receipt\n"
    "   WHERE $17 AND $14 > 0 AND invoice.status = 'paid'\n"
    "  ON CONFLICT (invoice_id, kind) DO NOTHING\n"
    "  RETURNING invoice_id, amount, currency, event_id\n"
    "), message AS (\n"
    "  INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload,\n"
    "                      idempotency_key)\n"
    "  SELECT 'Invoice', invoice_id, 'InvoicePaymentBooked',\n"
    "         jsonb_build_object('invoice_id', invoice_id, 'amount', amount,\n"
    "                            'currency', currency),\n"
    "         'webhook:' || event_id || ':InvoicePaymentBooked'\n"
    "    FROM booking\n"
    "), contradiction AS (\n"
    "  INSERT INTO webhook_reviews (provider, endpoint, event_id, reason, detail)\n"
    "  SELECT receipt.provider, receipt.endpoint, receipt.event_id,\n"
    "         CASE WHEN $17 THEN 'payment_for_void_invoice'\n"
    "              ELSE 'void_for_paid_invoice' END,\n"
    "         jsonb_build_object('invoice_id', invoice.id, 'amount', $14,\n"
    "                            'currency', $16)\n"
    "    FROM receipt, invoice\n"
    "   WHERE ($17 AND invoice.status = 'void')\n"
    "      OR ($13 = 'void' AND invoice.status = 'paid')\n"
    "  ON CONFLICT DO NOTHING\n"
    ")\n";

/* The customer is null, an id, or the whole object (expanded, or a deleted one). */
static enum field read_customer(struct json_object *invoice, const char **id)
{
    struct json_object *customer = field_get(invoice, "customer");

    if (json_object_is_type(customer, json_type_object))
        return field_text(customer, "id", EVENT_NAME_MAX, id);
    return field_text(invoice, "customer", EVENT_NAME_MAX, id);
}

/* The status as the object has it; open when it has none. */
static enum field read_status(struct json_object *invoice, const char **status)
{
    static const char *const known[] = {"draft", "open", "paid", "uncollectible", "void"};
    enum field field = field_text(invoice, "status", EVENT_NAME_MAX, status);

    if (field == FIELD_NONE)
        *status = "open";
    if (field != FIELD_OK)
        return field;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strcmp(*status, known[i]) == 0)
            return FIELD_OK;
    }
    return FIELD_BAD;
}

/* status NULL: the object's own. */
static enum status bind_invoice(const struct event *event, const char *status, bool books,
                                struct db_params *params, struct park *park)
{
    struct json_object *invoice = event_object(event);
    const char *id, *customer, *currency;
    int64_t amount = 0;

    if (!json_object_is_type(invoice, json_type_object))
        return handler_park(park, "data.object", "is no object");
    if (field_text(invoice, "id", EVENT_NAME_MAX, &id) != FIELD_OK)
        return handler_park(park, "data.object.id", "is missing or no id");
    if (read_customer(invoice, &customer) == FIELD_BAD)
        return handler_park(park, "data.object.customer", "is no customer");
    if (field_text(invoice, "currency", EVENT_NAME_MAX, &currency) == FIELD_BAD)
        return handler_park(park, "data.object.currency", "is no currency");
    if (status == NULL && read_status(invoice, &status) == FIELD_BAD)
        return handler_park(park, "data.object.status", "is no known status");
    if (books && field_int(invoice, "amount_paid", &amount) != FIELD_OK)
        return handler_park(park, "data.object.amount_paid", "is no integer of 64 bits");
    if (amount < 0)
        return handler_park(park, "data.object.amount_paid", "is negative");
    db_text(params, id);
    db_text(params, customer);
    db_text(params, status);
    db_int(params, amount);
    if (event->created > 0)
        db_int(params, event->created);
    else
        db_int_null(params);
    db_text(params, currency);
    db_bool(params, books);
    return ST_OK;
}

static enum status bind_as_it_is(const struct event *event, struct db_params *params,
                                 struct park *park)
{
    return bind_invoice(event, NULL, false, params, park);
}

static enum status bind_finalized(const struct event *event, struct db_params *params,
                                  struct park *park)
{
    return bind_invoice(event, "open", false, params, park);
}

static enum status bind_paid(const struct event *event, struct db_params *params, struct park *park)
{
    return bind_invoice(event, "paid", true, params, park);
}

static enum status bind_void(const struct event *event, struct db_params *params, struct park *park)
{
    return bind_invoice(event, "void", false, params, park);
}

static enum status bind_uncollectible(const struct event *event, struct db_params *params,
                                      struct park *park)
{
    return bind_invoice(event, "uncollectible", false, params, park);
}

/* Nothing but that it is about an invoice. */
static enum status bind_nothing(const struct event *event, struct db_params *params UNUSED,
                                struct park *park)
{
    const char *id;

    if (field_text(event_object(event), "id", EVENT_NAME_MAX, &id) != FIELD_OK)
        return handler_park(park, "data.object.id", "is missing or no id");
    return ST_OK;
}

/* A draft that was deleted stays as void: a late invoice.created must not revive it.
 * invoice.payment_succeeded comes beside paid for the same payment: no row here. */
const struct handler handler_invoice[] = {
    {"invoice.created", invoice_effect, bind_as_it_is},
    {"invoice.updated", invoice_effect, bind_as_it_is},
    {"invoice.finalized", invoice_effect, bind_finalized},
    {"invoice.paid", invoice_effect, bind_paid},
    {"invoice.voided", invoice_effect, bind_void},
    {"invoice.deleted", invoice_effect, bind_void},
    {"invoice.marked_uncollectible", invoice_effect, bind_uncollectible},
    {"invoice.payment_failed", NULL, bind_nothing},
};
const size_t handler_invoice_count = ARRAY_LEN(handler_invoice);
