"""Handlers written in SQL: found in the receipt's own statement, in force at COMMIT."""
import tempfile
import unittest

import hook

ORDER = """
CREATE TABLE orders (id text PRIMARY KEY, paid_by text NOT NULL, endpoint text);
CREATE FUNCTION order_paid(event jsonb, receipt jsonb) RETURNS void LANGUAGE sql AS $$
    INSERT INTO orders VALUES (event #>> '{data,object,client_reference_id}',
                               receipt ->> 'event_id', receipt ->> 'endpoint') $$;
"""


def bind(event_type, function, provider="stripe"):
    return ("INSERT INTO webhook_handlers VALUES ('%s', '%s', '%s') ON CONFLICT (provider, event_type)"
            " DO UPDATE SET handler = excluded.handler;" % (provider, event_type, function))


def note(name, text=None):
    """A function that writes its name into notes."""
    return ("CREATE TABLE IF NOT EXISTS notes (who text, event_id text);"
            "CREATE OR REPLACE FUNCTION %s(event jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN %s END $$;"
            % (name, text or "INSERT INTO notes VALUES ('%s', event ->> 'id');" % name))


def checkout(event_id, order="order_1"):
    return hook.event(event_id, "checkout.session.completed",
                      {"id": "cs_1", "object": "checkout.session", "client_reference_id": order})


class Bound(hook.Case):
    def deliver(self, body, status=200, word="processed"):
        a = self.cgi(body)
        self.assertAnswer(a, status, word)
        return a

    def test_once_with_its_receipt(self):
        """A bound function runs once for an event, beside its receipt; unbound before: ignored."""
        self.deliver(checkout("evt_0"), word="ignored")
        self.db.sql(ORDER + bind("checkout.session.completed", "order_paid(jsonb,jsonb)"))
        self.deliver(checkout("evt_1"))
        self.deliver(checkout("evt_1"), word="duplicate")
        self.assertEqual(self.db.one("SELECT id || ' ' || paid_by || ' ' || endpoint FROM orders"), "order_1 evt_1 billing")
        self.assertEqual(self.db.count("webhook_inbox", "outcome = 'processed' AND processed_at IS NOT NULL"), 1)

    def test_most_specific_wins(self):
        """Exact before the longer prefix before *; and what is as specific as the handler in C before it."""
        for name in ("every", "invoices", "exact"):
            self.db.sql(note(name))
        self.db.sql(bind("*", "every(jsonb)") + bind("invoice.*", "invoices(jsonb)"))
        self.deliver(hook.paid("evt_1"))
        self.assertEqual(self.db.count("notes"), 0)
        self.assertEqual(self.db.count("ledger_entries"), 1)
        self.deliver(hook.event("evt_2", "invoice.upcoming", {"id": "in_1"}))
        self.deliver(hook.event("evt_3", "charge.refunded", {"id": "ch_1"}))
        self.db.sql(bind("invoice.paid", "exact(jsonb)"))
        self.deliver(hook.paid("evt_4", invoice="in_4"))
        self.assertEqual(self.db.one("SELECT string_agg(who, ' ' ORDER BY event_id) FROM notes"), "invoices every exact")
        self.assertEqual(self.db.count("invoices", "id = 'in_4'"), 0)

    def test_a_function_raises(self):
        """An error fails the event with its SQLSTATE and message, and leaves nothing; the repeat succeeds."""
        self.db.sql(note("picky", "RAISE EXCEPTION 'no such order' USING ERRCODE = 'OR001';") + bind("*", "picky(jsonb)"))
        a = self.deliver(checkout("evt_1"), 500, "handler_failed")
        self.assertIn("OR001 no such order", a.log)
        self.assertEqual(self.db.count("webhook_inbox"), 0)
        self.db.sql(note("picky"))
        self.deliver(checkout("evt_1"))

    def test_a_function_parks(self):
        """SQLSTATE HK001: no repeat can help; parked with the function's words, and none of its writes."""
        self.db.sql(note("never", "INSERT INTO notes VALUES ('x'); RAISE EXCEPTION 'order is of an old shop'"
                                  " USING ERRCODE = 'HK001';") + bind("*", "never(jsonb)"))
        self.deliver(checkout("evt_1"), word="parked")
        self.assertEqual(self.db.one("SELECT last_error FROM webhook_inbox WHERE available_at = 'infinity'"),
                         "parked: order is of an old shop")
        self.assertEqual(self.db.count("webhook_reviews", "reason = 'parked'"), 1)
        self.assertEqual(self.db.count("notes"), 0)
        self.deliver(checkout("evt_1"), word="duplicate")

    def test_nothing_is_parked_without_its_receipt(self):
        """Promise 1: HK001 from elsewhere, where no receipt can be written at all, is no 200."""
        self.db.sql("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                    " RAISE EXCEPTION 'never' USING ERRCODE = 'HK001'; END $$;"
                    "CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON webhook_inbox"
                    " FOR EACH ROW EXECUTE FUNCTION refuse();")
        for mode in ("sync", "async", "auto"):
            with self.subTest(mode), tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
                f.write("database = %s\n[endpoint billing]\npath = %s\nprovider = stripe\nsecret = %s\nmode = %s\n"
                        % (self.db.url, hook.PATH, hook.SECRET, mode))
                f.flush()
                body = checkout("evt_1")
                a = hook.cgi(hook.environment(HOOKONCE_CONF=f.name), hook.signed(body), body)
                self.assertAnswer(a, 500, "handler_failed")
        self.assertEqual(self.db.count("webhook_inbox"), 0)

    def test_reads_what_c_cannot(self):
        """An event that the handler in C would park is applied by the function bound to it."""
        bad = hook.paid("evt_1", amount_paid="20")
        self.db.sql(note("mine") + bind("invoice.paid", "mine(jsonb)"))
        self.deliver(bad)
        self.assertEqual(self.db.count("notes"), 1)
        self.assertEqual(self.db.count("webhook_reviews"), 0)

    def test_dropped_and_renamed(self):
        """A rename goes on working; a dropped function is named as such, and loses nothing."""
        self.db.sql(note("mine") + bind("*", "mine(jsonb)") + "ALTER FUNCTION mine RENAME TO \"Mine, too\";")
        self.deliver(checkout("evt_1"))
        self.db.sql("DROP FUNCTION \"Mine, too\"(jsonb);")
        a = self.deliver(checkout("evt_2"), 500, "handler_failed")
        self.assertIn("42883 the handler bound to stripe checkout.session.completed was dropped", a.log)
        self.db.sql(note("mine") + bind("*", "mine(jsonb)"))
        self.deliver(checkout("evt_2"))
        self.assertEqual(self.db.count("notes"), 2)

    def test_commit_inside(self):
        """A function cannot commit half of it."""
        self.db.sql(note("rash", "INSERT INTO notes VALUES ('x'); COMMIT;") + bind("*", "rash(jsonb)"))
        self.assertIn("2D000", self.deliver(checkout("evt_1"), 500, "handler_failed").log)
        self.assertEqual(self.db.count("notes") + self.db.count("webhook_inbox"), 0)

    def test_refused_where_it_is_bound(self):
        """What cannot be called, and a star that is not at the end, never get into the table."""
        self.db.sql("CREATE FUNCTION wrong(event json) RETURNS void LANGUAGE sql AS '';"
                    "CREATE FUNCTION counts(event jsonb) RETURNS int LANGUAGE sql AS 'SELECT 1';"
                    "CREATE PROCEDURE does(event jsonb) LANGUAGE sql AS '';" + note("fits"))
        for event_type, function in (("*", "wrong(json)"), ("*", "counts(jsonb)"), ("*", "does(jsonb)"),
                                     ("*.paid", "fits(jsonb)"), ("", "fits(jsonb)"), ("a.*.b", "fits(jsonb)")):
            with self.assertRaises(Exception, msg=function):
                self.db.sql(bind(event_type, function))
        self.assertEqual(self.db.count("webhook_handlers"), 0)


if __name__ == "__main__":
    hook.main()
