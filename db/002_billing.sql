-- 002: invoices and their payments, for the shipped invoice handlers.
-- By hand: psql -1 -v ON_ERROR_STOP=1 -f 002_billing.sql

CREATE TABLE invoices (
    id          text        PRIMARY KEY,                 -- in_…
    customer_id text,                                    -- Stripe sends null too
    status      text        NOT NULL
                CHECK (status IN ('draft', 'open', 'paid', 'void', 'uncollectible')),
    amount_paid bigint      NOT NULL DEFAULT 0,          -- minor units of the currency
    paid_at     timestamptz,                             -- the earliest payment's own time
    updated_at  timestamptz NOT NULL DEFAULT now(),
    currency    text,
    livemode    boolean,
    account     text
);

-- One payment for one invoice, under however many event ids it is told.
CREATE TABLE ledger_entries (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    invoice_id text        NOT NULL,
    kind       text        NOT NULL,
    amount     bigint      NOT NULL,                     -- minor units of the currency
    currency   text,
    event_id   text,                                     -- the event that booked it
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (invoice_id, kind)
);

INSERT INTO schema_migrations (version, name) VALUES (2, 'billing');
