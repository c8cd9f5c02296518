-- 001: the inbox. Names are unqualified: the search_path places them.
-- By hand: psql -1 -v ON_ERROR_STOP=1 -f 001_inbox.sql

CREATE TABLE IF NOT EXISTS schema_migrations (
    version    integer     PRIMARY KEY,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- A receipt for each event. The primary key judges what was there before.
CREATE TABLE webhook_inbox (
    provider         text        NOT NULL,               -- stripe, …: ids of two providers never meet
    endpoint         text        NOT NULL,               -- the same event on two endpoints: two receipts
    event_id         text        NOT NULL,
    event_type       text        NOT NULL,
    payload          jsonb       NOT NULL,               -- the verified body
    received_at      timestamptz NOT NULL DEFAULT now(),
    available_at     timestamptz NOT NULL DEFAULT now(), -- when a worker may take it; infinity: at rest
    attempts         integer     NOT NULL DEFAULT 0,     -- counted before the work
    last_error       text,                               -- SQLSTATE and message, no payload
    processed_at     timestamptz,                        -- null: not processed yet
    outcome          text        CHECK (outcome IN ('processed', 'ignored')),
    deliveries       integer     NOT NULL DEFAULT 1,     -- duplicates = deliveries - 1
    last_delivery_at timestamptz NOT NULL DEFAULT now(),
    account          text,                               -- Connect's account, null: the platform's own
    livemode         boolean,
    raw_body         bytea,                              -- the exact bytes, where payload cannot hold them
    PRIMARY KEY (provider, endpoint, event_id)
);
CREATE INDEX webhook_inbox_unprocessed
    ON webhook_inbox (available_at) WHERE processed_at IS NULL;
-- Age and purge read whole ranges of rows that lie together.
CREATE INDEX webhook_inbox_received ON webhook_inbox USING brin (received_at);
CREATE INDEX webhook_inbox_processed ON webhook_inbox USING brin (processed_at);

-- What a person must look at.
CREATE TABLE webhook_reviews (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider    text        NOT NULL,
    endpoint    text        NOT NULL,
    event_id    text        NOT NULL,
    reason      text        NOT NULL,                    -- a word: parked, payment_for_void_invoice, …
    detail      jsonb       NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz,
    note        text,                                    -- the person's
    UNIQUE (provider, endpoint, event_id, reason)
);
CREATE INDEX webhook_reviews_open ON webhook_reviews (created_at) WHERE resolved_at IS NULL;

-- Messages for others, written with the effect that causes them.
CREATE TABLE outbox (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    aggregate_type  text        NOT NULL,
    aggregate_id    text        NOT NULL,
    event_type      text        NOT NULL,
    payload         jsonb       NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    published_at    timestamptz,
    idempotency_key text        UNIQUE,                  -- webhook:<event id>:<effect>
    available_at    timestamptz NOT NULL DEFAULT now(),
    attempts        integer     NOT NULL DEFAULT 0,
    last_error      text,
    lease_token     bigint                               -- fencing: who may mark it published
);
CREATE INDEX outbox_unpublished ON outbox (available_at) WHERE published_at IS NULL;

INSERT INTO schema_migrations (version, name) VALUES (1, 'inbox');
