-- 003: handlers written in SQL, bound to event types.
-- By hand: psql -1 -v ON_ERROR_STOP=1 -f 003_handlers.sql

-- A binding holds the function itself, not its name: it survives a rename, and not a DROP.
CREATE TABLE webhook_handlers (
    provider   text         NOT NULL,
    event_type text         NOT NULL                     -- invoice.paid, invoice.* or *
               CHECK (event_type <> ''
                      AND position('*' IN event_type) IN (0, length(event_type))),
    handler    regprocedure NOT NULL,                    -- (event jsonb[, receipt jsonb]) returns void
    PRIMARY KEY (provider, event_type)
);

-- What cannot be called is refused where it is bound, not at the first event.
CREATE FUNCTION webhook_handlers_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_proc
                    WHERE oid = NEW.handler AND prokind = 'f' AND NOT proretset
                      AND prorettype = 'void'::regtype
                      AND array_to_string(proargtypes::regtype[], ' ')
                          IN ('jsonb', 'jsonb jsonb')) THEN
        RAISE EXCEPTION '% cannot be a handler for % %', NEW.handler, NEW.provider, NEW.event_type
            USING ERRCODE = 'invalid_function_definition',
                  HINT = 'A handler is a function (event jsonb) or (event jsonb, receipt jsonb) that returns void.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER webhook_handlers_check BEFORE INSERT OR UPDATE ON webhook_handlers
    FOR EACH ROW EXECUTE FUNCTION webhook_handlers_check();

-- Runs a handler inside the statement that writes the receipt; without one it is not called.
CREATE FUNCTION webhook_call(handler regprocedure, event jsonb, receipt jsonb) RETURNS void
LANGUAGE plpgsql STRICT AS $$
DECLARE
    arguments integer;
BEGIN
    SELECT pronargs INTO arguments FROM pg_proc WHERE oid = handler;
    IF arguments IS NULL THEN
        RAISE EXCEPTION 'the handler bound to % % was dropped',
                        receipt ->> 'provider', receipt ->> 'event_type'
            USING ERRCODE = 'undefined_function',
                  HINT = 'Bind the new function in webhook_handlers.';
    ELSIF arguments = 1 THEN
        EXECUTE format('SELECT %s($1)', handler::regproc) USING event;
    ELSE
        EXECUTE format('SELECT %s($1, $2)', handler::regproc) USING event, receipt;
    END IF;
END $$;

INSERT INTO schema_migrations (version, name) VALUES (3, 'handlers');
