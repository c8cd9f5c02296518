-- The responder's rights and no more: it writes receipts and effects. Run it as the tables' owner, in their search_path:
--   psql -v role=hookonce_web -f roles.sql
-- The role must exist: CREATE ROLE hookonce_web LOGIN;

GRANT SELECT, INSERT ON webhook_inbox TO :"role";
GRANT UPDATE (deliveries, last_delivery_at) ON webhook_inbox TO :"role";
GRANT SELECT, INSERT, UPDATE ON invoices TO :"role";
GRANT SELECT, INSERT ON ledger_entries, outbox, webhook_reviews TO :"role";
GRANT SELECT ON webhook_handlers TO :"role";
GRANT UPDATE (detail, created_at, resolved_at, note) ON webhook_reviews TO :"role";

-- With drain on, it works receipts as the worker does:
GRANT UPDATE (attempts, available_at, processed_at, outcome, last_error) ON webhook_inbox
    TO :"role";
