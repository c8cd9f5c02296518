"""The database goes away, comes back, is full, slow, locked, or behind a pooler."""
import os
import subprocess
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import hook
import proxy

EVENT = hook.paid("evt_1")


class Availability(hook.Case):
    def test_restart_between_requests(self):
        """R118: PostgreSQL was restarted: the next request succeeds on a fresh connection."""
        r = self.responder()
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "processed")
        for i in range(3):
            hook.cluster("restart")
            body = hook.paid("evt_r%d" % i, invoice="in_r%d" % i)
            self.assertAnswer(r.request(hook.signed(body), body), 200, "processed")
        self.assertEqual(r.stop(), [0])

    def test_down_and_up(self):
        """Database down: 503 with Retry-After within 6 s, the process lives on; up again: 200."""
        r = self.responder()
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "processed")
        hook.cluster("stop")
        try:
            for _ in range(3):
                began = time.monotonic()
                a = r.request(hook.signed(EVENT), EVENT)
                self.assertAnswer(a, 503)
                self.assertIn("retry-after", a.headers)
                self.assertLess(time.monotonic() - began, 6)
        finally:
            hook.cluster("start")
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "duplicate")
        self.assertEqual(r.stop(), [0])

    def test_down_at_the_start(self):
        """A responder that starts before the database answers 503, then works."""
        hook.cluster("stop")
        try:
            r = self.responder()
            self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 503)
        finally:
            hook.cluster("start")
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "processed")

    def test_server_killed(self):
        """R121: kill -9 to the whole server, started anew: one 503 at most."""
        r = self.responder()
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "processed")
        hook.cluster("kill")
        time.sleep(0.3)
        hook.cluster("start")
        answers = [r.request(hook.signed(EVENT), EVENT) for _ in range(2)]
        self.assertIn(answers[0].status, (200, 503))
        self.assertAnswer(answers[1], 200, "duplicate")

    def test_silently_dropped(self):
        """R121: an idle connection that answers nothing any more (a firewall forgot it) ends at
        the request's deadline: one 503, then a fresh connection."""
        quiet = threading.Event()
        p = proxy.Proxy(self.db.url, lambda kind, n: not (quiet.is_set() and n > 0))
        self.addCleanup(p.close)
        r = self.responder(DATABASE_URL=p.url)
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "processed")
        quiet.set()
        began = time.monotonic()
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 503, "database_timeout")
        self.assertLess(time.monotonic() - began, 6)
        quiet.clear()
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "duplicate")

    def test_too_many_connections(self):
        """R129, R130: more processes than connections: 503 for some, never 2xx without a row."""
        self.db.sql("CREATE ROLE few%d LOGIN CONNECTION LIMIT 3; GRANT ALL ON ALL TABLES IN SCHEMA public TO few%d;"
                    % (os.getpid(), os.getpid()))
        self.addCleanup(lambda: self.db.sql("DROP OWNED BY few%d; DROP ROLE few%d" % (os.getpid(), os.getpid())))
        url = self.db.url.replace("user=postgres", "user=few%d" % os.getpid())
        bodies = [hook.paid("evt_%d" % i, invoice="in_%d" % i) for i in range(40)]

        def deliver(body):
            return hook.cgi({**self.env, "DATABASE_URL": url}, hook.signed(body), body)

        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(deliver, bodies))
        self.assertEqual({a.status for a in answers} - {200, 503}, set())
        self.assertTrue(all("retry-after" in a.headers for a in answers if a.status == 503))
        self.assertEqual(sum(a.status == 200 for a in answers), self.db.count("webhook_inbox"))
        for body, a in zip(bodies, answers):
            if a.status == 503:
                self.assertAnswer(deliver(body), 200, "processed")
        self.assertEqual(self.db.count("ledger_entries"), 40)

    def test_encoding(self):
        """R139: a database that is not in UTF8 is refused with a clear message."""
        db = hook.Database(migrate=False, options="ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
        self.addCleanup(db.close)
        a = hook.cgi(hook.environment(db), hook.signed(EVENT), EVENT)
        self.assertAnswer(a, 500, "database_not_utf8")
        self.assertIn("SQL_ASCII", a.log)

    def test_no_rights(self):
        """db/roles.sql is enough for deliveries of every outcome, and for nothing else."""
        role = "web%d" % os.getpid()
        self.db.sql("CREATE ROLE %s LOGIN" % role)
        self.addCleanup(lambda: self.db.sql("DROP OWNED BY %s; DROP ROLE %s" % (role, role)))
        env = {**self.env, "DATABASE_URL": self.db.url.replace("user=postgres", "user=" + role)}
        self.assertAnswer(hook.cgi(env, hook.signed(EVENT), EVENT), 500, "schema_missing")
        subprocess.run(["psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", "-v", "role=" + role, "-d", self.db.url,
                        "-f", os.path.join(hook.ROOT, "db/roles.sql")], check=True)
        for body, word in ((EVENT, "processed"), (EVENT, "duplicate"),
                           (hook.paid("evt_2", amount_paid="x"), "parked"),
                           (hook.event("evt_3", "invoice.voided", {"id": "in_1"}), "processed"),
                           (hook.event("evt_4", "a.b", {}), "ignored")):
            self.assertAnswer(hook.cgi(env, hook.signed(body), body), 200, word)
        for sql in ("DELETE FROM webhook_inbox", "UPDATE webhook_inbox SET payload = '{}'",
                    "DELETE FROM ledger_entries", "UPDATE ledger_entries SET amount = 1",
                    "DROP TABLE outbox", "DELETE FROM invoices"):
            with self.assertRaisesRegex(AssertionError, "permission denied|must be owner"):
                hook.psql(env["DATABASE_URL"], sql)


class Contention(hook.Case):
    def test_row_lock(self):
        """R111, R200: a lock that is held ends in our time-out first: 503, nothing stored; the
        repeat is processed."""
        self.assertAnswer(self.cgi(hook.event("evt_0", "invoice.created", {"id": "in_1"})), 200)
        holder = subprocess.Popen(["psql", "-X", "-q", "-d", self.db.url, "-c",
                                   "BEGIN; SELECT 1 FROM invoices FOR UPDATE; SELECT pg_sleep(60)"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        hook.wait_for(lambda: self.db.one("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1")
        began = time.monotonic()
        a = self.cgi(EVENT)
        self.assertAnswer(a, 503, "database_timeout")
        self.assertLess(time.monotonic() - began, 6)
        self.assertEqual(self.db.count("webhook_inbox"), 1)
        self.db.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
        holder.wait()
        self.assertAnswer(self.cgi(EVENT), 200, "processed")

    def test_slow_handler(self):
        """R111: a handler that is too slow is ended: 503, rolled back; a second delivery waits
        no longer than the lock's limit."""
        self.db.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
                    " $$ BEGIN PERFORM pg_sleep(35); RETURN NEW; END $$;"
                    "CREATE TRIGGER slow BEFORE INSERT ON invoices FOR EACH ROW EXECUTE FUNCTION slow()")
        with ThreadPoolExecutor(2) as pool:
            began = time.monotonic()
            first = pool.submit(self.cgi, EVENT)
            time.sleep(0.5)
            second = pool.submit(self.cgi, EVENT)
            self.assertAnswer(first.result(), 503, "database_timeout")
            self.assertAnswer(second.result(), 503)
            self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(self.db.count("webhook_inbox"), 0)

    def test_deadlocks(self):
        """R110: transactions that lock A,B and B,A: 40P01 is tried again inside; every 200 has
        its effect, and every event ends applied."""
        self.db.sql("CREATE TABLE pair (k int PRIMARY KEY, n int NOT NULL); INSERT INTO pair VALUES (1, 0), (2, 0);"
                    "CREATE FUNCTION lock_both() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                    " UPDATE pair SET n = n + 1 WHERE k = CASE WHEN NEW.id LIKE 'in_a%%' THEN 1 ELSE 2 END;"
                    " PERFORM pg_sleep(0.01);"
                    " UPDATE pair SET n = n + 1 WHERE k = CASE WHEN NEW.id LIKE 'in_a%%' THEN 2 ELSE 1 END;"
                    " RETURN NEW; END $$;"
                    "CREATE TRIGGER lock_both AFTER INSERT ON invoices FOR EACH ROW EXECUTE FUNCTION lock_both();"
                    "ALTER DATABASE %s SET deadlock_timeout = '20ms'" % self.db.name)
        r = self.responder(processes=4)
        bodies = [hook.paid("evt_%s%d" % (k, i), invoice="in_%s%d" % (k, i)) for i in range(100) for k in "ab"]

        def until_done(body):
            for tries in range(1, 20):
                a = r.request(hook.signed(body), body)
                if a.status == 200:
                    return a.word, tries
                self.assertIn(a.status, (503,), a)

        with ThreadPoolExecutor(4) as pool:
            done = list(pool.map(until_done, bodies))
        self.assertEqual({word for word, _ in done}, {"processed"})
        self.assertEqual(self.db.sql("SELECT n FROM pair"), [("200",), ("200",)])
        self.assertEqual(self.db.count("ledger_entries"), 200)

    def test_burst_on_a_slow_database(self):
        """R117: 200 events at once, 4 processes, a database slowed down: all 200 or 503, none
        lost, none twice, and it recovers without help."""
        self.db.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
                    " $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;"
                    "CREATE TRIGGER slow BEFORE INSERT ON invoices FOR EACH ROW EXECUTE FUNCTION slow()")
        r = self.responder(processes=4)
        bodies = [hook.paid("evt_%d" % i, invoice="in_%d" % i) for i in range(200)]
        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda b: r.request(hook.signed(b), b, timeout=60), bodies))
        self.assertEqual({a.status for a in answers} - {200, 503}, set())
        self.db.sql("DROP TRIGGER slow ON invoices")
        for body in bodies:
            self.assertEqual(r.request(hook.signed(body), body).status, 200)
        self.assertEqual(self.db.count("ledger_entries"), 200)

    def test_duplicates_leave_no_error(self):
        """R107: 50 duplicates one after another and 50 at once: all 200, no ERROR in the
        server's log."""
        r = self.responder(processes=8)
        with open(os.path.join(hook.SERVER, "server.log"), "rb") as f:
            f.seek(0, os.SEEK_END)
            for _ in range(50):
                self.assertEqual(r.request(hook.signed(EVENT), EVENT).status, 200)
            with ThreadPoolExecutor(50) as pool:
                answers = list(pool.map(lambda _: r.request(hook.signed(EVENT), EVENT), range(50)))
            self.assertEqual([a.status for a in answers], [200] * 50)
            self.assertNotIn(b"ERROR", f.read())
        self.assertEqual(self.db.one("SELECT deliveries FROM webhook_inbox"), "100")


class Pooler(hook.Case):
    """R122, R126, R128: PgBouncer in transaction mode, with one server connection."""

    def setUp(self):
        super().setUp()
        self.dir = tempfile.mkdtemp(prefix="hookpool")
        os.chmod(self.dir, 0o777)
        server = self.db.url.split("host=")[1].split()[0]
        with open(self.dir + "/ini", "w") as f:
            f.write("[databases]\n* = host=%s user=postgres\n[pgbouncer]\nlisten_port = 6999\nlisten_addr =\n"
                    "unix_socket_dir = %s\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 1\n"
                    "server_reset_query =\nlogfile = %s/log\n" % (server, self.dir, self.dir))
        who = ["-u", "postgres"] if os.getuid() == 0 else []
        self.pooler = subprocess.Popen(["/usr/sbin/pgbouncer", "-q", *who, self.dir + "/ini"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end)
        hook.wait_for(lambda: os.path.exists(self.dir + "/.s.PGSQL.6999"))
        self.env["DATABASE_URL"] = "host=%s port=6999 dbname=%s" % (self.dir, self.db.name)

    def end(self):
        self.pooler.terminate()
        self.pooler.wait()

    def test_through_the_pooler(self):
        """50 events from two processes over one server connection: all processed, the limits
        in force inside the transaction, nothing left behind on the connection."""
        r = self.responder(processes=2)
        for i in range(50):
            body = hook.paid("evt_%d" % i, invoice="in_%d" % i)
            self.assertAnswer(r.request(hook.signed(body), body), 200, "processed")
            self.assertAnswer(r.request(hook.signed(body), body), 200, "duplicate")
        bad = hook.paid("evt_bad", invoice="in_bad")
        self.db.sql("CREATE FUNCTION sleepy() RETURNS trigger LANGUAGE plpgsql AS"
                    " $$ BEGIN PERFORM pg_sleep(30); RETURN NEW; END $$;"
                    "CREATE TRIGGER sleepy BEFORE INSERT ON invoices FOR EACH ROW WHEN (NEW.id = 'in_bad')"
                    " EXECUTE FUNCTION sleepy()")
        self.assertAnswer(r.request(hook.signed(bad), bad), 503, "database_timeout")
        self.assertEqual(hook.psql(self.env["DATABASE_URL"], "SHOW statement_timeout"), [("0",)])
        good = hook.paid("evt_good", invoice="in_good")
        self.assertAnswer(r.request(hook.signed(good), good), 200, "processed")

    def test_worker_through_the_pooler(self):
        """R124: no LISTEN is needed: a worker behind the pooler takes a receipt up in its poll."""
        p = subprocess.Popen([hook.OPERATOR, "worker", "--database", self.env["DATABASE_URL"]], env=hook.environment(),
                             stderr=subprocess.DEVNULL)
        time.sleep(1)
        self.db.sql("INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload)"
                    " VALUES ('stripe', 'billing', 'evt_1', 'a.b', '{}')")
        hook.wait_for(lambda: self.db.count("webhook_inbox", "outcome = 'ignored'") == 1, 2)
        self.assertLess(float(self.db.one("SELECT extract(epoch FROM processed_at - received_at) FROM webhook_inbox")), 1)
        p.terminate()
        self.assertEqual(p.wait(5), 0)

    def test_backend_ended_behind_the_pooler(self):
        """R137: the server's side is ended in mid-statement: an answer within the limits, and
        the process serves on."""
        self.db.sql("CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS"
                    " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;"
                    "CREATE TRIGGER die BEFORE INSERT ON invoices FOR EACH ROW EXECUTE FUNCTION die()")
        r = self.responder()
        began = time.monotonic()
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 503)
        self.assertLess(time.monotonic() - began, 6)
        self.db.sql("DROP TRIGGER die ON invoices")
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "processed")


if __name__ == "__main__":
    hook.main()
