"""Record now, work later: the modes, the worker, leases and deaths, drain after the answer."""
import os
import random
import signal
import subprocess
import threading
import time
import unittest

import hook

FIRST = hook.paid("evt_1")


def processed(db):
    return db.count("webhook_inbox", "processed_at IS NOT NULL")


def add_receipts(db, n, event_type="invoice.paid"):
    db.sql("INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload)"
           " SELECT 'stripe', 'billing', 'evt_' || n, '%s', jsonb_build_object('created', 1760090000,"
           " 'data', jsonb_build_object('object', jsonb_build_object('id', 'in_' || n, 'amount_paid', n,"
           " 'currency', 'usd', 'customer', 'cus_1'))) FROM generate_series(1, %d) AS n" % (event_type, n))


def fail_with(db, body, when="true", table="invoices", name="t"):
    """A trigger on the business tables that runs body."""
    db.sql("CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; RETURN NEW; END $$;"
           "CREATE OR REPLACE TRIGGER %s BEFORE INSERT ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION %s()"
           % (name, body, name, table, when, name))


class WorkerCase(hook.Case):
    def setUp(self):
        super().setUp()
        self.dir = "/tmp/hookonce-worker-%d" % os.getpid()
        self.conf = self.dir + ".conf"
        self.addCleanup(lambda: os.path.exists(self.conf) and os.unlink(self.conf))
        self.configure("async")
        self.workers = []
        self.addCleanup(self.end_workers)

    def configure(self, mode, extra="", top=""):
        with open(self.conf, "w") as f:
            os.chmod(self.conf, 0o600)
            f.write("database = %s\n%s\n" % (self.db.url, top))
            for name, m in (("billing", mode), ("sync", "sync"), ("auto", "auto"), ("async", "async")):
                f.write("[endpoint %s]\npath = /stripe/%s\nprovider = stripe\nsecret = %s\nmode = %s\n%s\n"
                        % (name, name, hook.SECRET, m, extra if m == mode else ""))
        self.env = hook.environment(HOOKONCE_CONF=self.conf)

    def worker(self, *args, wait=True):
        """Runs hookonce worker; with wait, to its end: its log."""
        p = subprocess.Popen([hook.OPERATOR, "worker", "--config", self.conf, *args], env=hook.environment(),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        if wait:
            out, err = p.communicate(timeout=120)
            self.assertEqual((p.returncode, out), (0, ""), err)
            return err
        self.workers.append(p)
        return p

    def end_workers(self):
        for p in self.workers:
            if p.poll() is None:
                p.terminate()
            try:
                p.communicate(timeout=40)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.communicate()

    def assertEach(self, n):
        """n receipts, each with exactly one effect."""
        self.assertEqual(processed(self.db), n)
        self.assertEqual([self.db.count(t) for t in ("ledger_entries", "invoices", "outbox")], [n, n, n])
        self.assertEqual(self.db.one("SELECT count(DISTINCT invoice_id) FROM ledger_entries"), str(n))


class Modes(WorkerCase):
    def test_async(self):
        """Promise 1: 200 accepted for the receipt alone; a repeat is a duplicate; the worker's
        effect is one."""
        self.assertAnswer(self.cgi(FIRST), 200, "accepted")
        self.assertAnswer(self.cgi(FIRST), 200, "duplicate")
        self.assertEqual((processed(self.db), self.db.count("ledger_entries")), (0, 0))
        log = self.worker("--drain")
        self.assertRegex(log, r'endpoint=billing outcome=processed event="evt_1" type="invoice.paid" attempt=1 ms=\d+')
        self.assertEach(1)
        self.assertAnswer(self.cgi(FIRST), 200, "duplicate")
        self.assertEqual(self.db.one("SELECT deliveries FROM webhook_inbox"), "3")

    def test_side_by_side(self):
        """sync, async and auto endpoints in one database: each receipt its own, the money once."""
        for path, word in (("/stripe/sync", "processed"), ("/stripe/async", "accepted"), ("/stripe/auto", "processed")):
            self.assertAnswer(self.cgi(FIRST, path=path), 200, word)
            self.assertAnswer(self.cgi(FIRST, path=path), 200, "duplicate")
        self.worker("--drain")
        self.assertEqual((processed(self.db), self.db.count("ledger_entries"), self.db.count("outbox")), (3, 1, 1))

    def test_unwanted_and_parked(self):
        """Async: an event of another account is ignored at once, one that cannot be read is
        parked at once (jsonb would make 2000 of 2e3); an unknown type is the worker's to ignore."""
        self.assertAnswer(self.cgi(hook.event("evt_a", "invoice.paid", {"id": "in_a"}, account="acct_1")), 200, "ignored")
        exact = hook.paid("evt_b", amount_paid=2000).replace(b"2000", b"2e3")
        self.assertAnswer(self.cgi(exact), 200, "parked")
        self.assertAnswer(self.cgi(exact), 200, "duplicate")
        self.assertAnswer(self.cgi(hook.event("evt_c", "a.b", {})), 200, "accepted")
        log = self.worker("--drain")
        self.assertNotIn("evt_b", log)
        self.assertIn('outcome=ignored event="evt_c"', log)
        self.assertEqual(self.db.count("ledger_entries"), 0)

    def test_auto_fails(self):
        """Auto: the handler fails: rolled back, the receipt kept with its error and first
        attempt, 200 accepted; the worker applies it later, once."""
        self.configure("auto")
        fail_with(self.db, "RAISE EXCEPTION 'not today'")
        a = self.cgi(FIRST)
        self.assertAnswer(a, 200, "accepted")
        self.assertIn('database="P0001 not today"', a.log)
        self.assertEqual(self.db.sql("SELECT attempts, last_error, processed_at IS NULL FROM webhook_inbox"),
                         [("1", "P0001 not today", "t")])
        self.assertEqual(self.db.count("invoices"), 0)
        self.assertAnswer(self.cgi(FIRST), 200, "duplicate")
        self.db.sql("DROP TRIGGER t ON invoices; UPDATE webhook_inbox SET available_at = now()")
        self.worker("--drain")
        self.assertEach(1)
        self.assertEqual(self.db.sql("SELECT attempts, last_error FROM webhook_inbox"), [("2", "")])

    def test_auto_keeps_long_errors(self):
        """Auto: an error text that is cut inside a character is still kept: 200 accepted."""
        self.configure("auto")
        for i in range(3):
            fail_with(self.db, "RAISE EXCEPTION '%s', repeat('é', 400)" % ("x" * i + "%"))
            self.assertAnswer(self.cgi(hook.paid("evt_%d" % i)), 200, "accepted")

    def test_auto_is_slow(self):
        """Auto: a handler beyond the deadline is ended and kept; the answer comes in time."""
        self.configure("auto", "deadline = 500ms")
        fail_with(self.db, "PERFORM pg_sleep(20)")
        began = time.monotonic()
        self.assertAnswer(self.cgi(FIRST), 200, "accepted")
        self.assertLess(time.monotonic() - began, 2)
        self.assertIn("57014", self.db.one("SELECT last_error FROM webhook_inbox"))

    def test_auto_without_a_database(self):
        """Auto keeps nothing where there is nothing to keep it in: 503."""
        self.configure("auto")
        fail_with(self.db, "RAISE EXCEPTION 'x'", table="webhook_inbox")
        self.assertAnswer(self.cgi(FIRST), 500, "handler_failed")
        self.assertEqual(self.db.count("webhook_inbox"), 0)


class Worker(WorkerCase):
    def test_quick_and_cheap(self):
        """A receipt is taken up within 250 ms; idle, four jobs ask at most five times a second."""
        parent = self.worker("--jobs", "4", wait=False)
        time.sleep(1.5)
        for i in range(8):
            time.sleep(random.random() * 0.4)
            began = time.monotonic()
            self.cgi(hook.paid("evt_%d" % i, invoice="in_%d" % i))
            self.db.sql("SELECT 1")
            hook.wait_for(lambda: self.db.count("webhook_inbox", "processed_at IS NULL") == 0)
        delays = [float(d[0]) for d in self.db.sql("SELECT extract(epoch FROM processed_at - received_at) FROM webhook_inbox")]
        self.assertLess(sorted(delays)[len(delays) // 2], 0.25, delays)
        self.assertLess(max(delays), 0.25 if not hook.SANITIZED else 1, delays)
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent.pid)], capture_output=True, text=True).stdout.split()
        trace = self.dir + ".trace"
        self.addCleanup(os.unlink, trace)
        strace = subprocess.Popen(["strace", "-q", "-e", "trace=sendto", "-o", trace] +
                                  [a for c in children for a in ("-p", c)], stderr=subprocess.DEVNULL)
        time.sleep(8)
        strace.terminate()
        strace.wait()
        with open(trace) as f:
            asked = sum("sendto(" in line for line in f)
        self.assertLessEqual(asked, 40, "questions in 8 s")
        self.assertGreater(asked, 16)

    def test_last_poll_is_visible(self):
        """R125: the worker's last question can be seen, and it goes on after the table was locked."""
        self.worker(wait=False)
        asked = ("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hookonce worker'"
                 " AND datname = current_database() AND query_start > now() - interval '2 s'")
        hook.wait_for(lambda: self.db.one(asked) == "1")
        self.db.sql("BEGIN; LOCK TABLE webhook_inbox; SELECT pg_sleep(2); COMMIT")
        add_receipts(self.db, 1)
        hook.wait_for(lambda: processed(self.db) == 1)

    def test_stop_finishes_the_receipt_in_hand(self):
        """TERM: the receipt in hand is finished, what was claimed and not begun is given back."""
        fail_with(self.db, "PERFORM pg_sleep(1)")
        add_receipts(self.db, 8)
        p = self.worker(wait=False)
        hook.wait_for(lambda: self.db.one("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1")
        p.terminate()
        p.communicate(timeout=10)
        self.assertEqual(p.returncode, 0)
        done = processed(self.db)
        self.assertIn(done, (1, 2))
        self.assertEqual(self.db.count("webhook_inbox", "attempts = 0 AND available_at <= now()"), 8 - done)

    def test_drain(self):
        """--drain works what is due and ends; --max-time begins nothing after its time."""
        add_receipts(self.db, 50)
        self.db.sql("UPDATE webhook_inbox SET available_at = now() + interval '1 hour' WHERE event_id = 'evt_50'")
        self.worker("--drain", "--jobs", "3")
        self.assertEqual(processed(self.db), 49)
        fail_with(self.db, "PERFORM pg_sleep(0.4)")
        self.db.sql("TRUNCATE webhook_inbox, invoices, ledger_entries, outbox")
        add_receipts(self.db, 20)
        began = time.monotonic()
        self.worker("--drain", "--max-time", "1s")
        self.assertLess(time.monotonic() - began, 3)
        self.assertIn(processed(self.db), (2, 3, 4))
        self.assertEqual(self.db.count("webhook_inbox", "processed_at IS NULL AND attempts = 0"), 20 - processed(self.db))

    def test_killed_in_the_handler(self):
        """R140, R145: kill -9 in the middle of the handler: worked again after its lease, once;
        attempts keep count; at the limit it rests, with a review."""
        fail_with(self.db, "PERFORM pg_sleep(20)")
        add_receipts(self.db, 1)
        asleep = ("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()")
        options = ("--lease", "2s", "--timeout", "1900ms", "--max-attempts", "3")
        for attempt in (1, 2, 3):
            p = self.worker(*options, wait=False)
            hook.wait_for(lambda: self.db.one(asleep) == "1")
            p.kill()
            p.communicate()
            self.db.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
            self.assertEqual(self.db.one("SELECT attempts FROM webhook_inbox"), str(attempt))
            if attempt == 2:
                self.assertEqual(self.db.count("webhook_inbox", "available_at > now()"), 1)
        time.sleep(2.1)
        self.worker("--drain", *options)
        self.assertEqual(self.db.sql("SELECT attempts, available_at, processed_at IS NULL FROM webhook_inbox"),
                         [("3", "infinity", "t")])
        self.assertEqual(self.db.sql("SELECT reason FROM webhook_reviews"), [("attempts_exhausted",)])
        self.db.sql("DROP TRIGGER t ON invoices; UPDATE webhook_inbox SET attempts = 0, available_at = now()")
        self.worker("--drain")
        self.assertEach(1)

    def test_frozen_worker(self):
        """R144: a worker that is frozen past its lease: another one does the work, and the
        first one, awake again, changes nothing."""
        add_receipts(self.db, 1)
        self.db.sql("BEGIN; LOCK TABLE invoices IN SHARE MODE; COMMIT")
        holder = subprocess.Popen(["psql", "-X", "-q", "-d", self.db.url, "-c",
                                   "BEGIN; LOCK TABLE invoices; SELECT pg_sleep(1.2); COMMIT"], stdout=subprocess.DEVNULL)
        hook.wait_for(lambda: self.db.one("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1")
        a = self.worker("--lease", "2s", "--timeout", "1500ms", wait=False)
        hook.wait_for(lambda: self.db.one("SELECT attempts FROM webhook_inbox") == "1")
        os.kill(a.pid, signal.SIGSTOP)
        holder.wait()
        time.sleep(1.5)
        b = self.worker("--lease", "2s", "--timeout", "1500ms", wait=False)
        hook.wait_for(lambda: processed(self.db) == 1)
        os.kill(a.pid, signal.SIGCONT)
        time.sleep(0.5)
        self.assertEach(1)
        self.assertIsNone(a.poll())
        self.assertIsNone(b.poll())

    def test_clocks(self):
        """R150, R151: every time that is compared is the database's: a worker whose clock is ten
        minutes ahead or behind takes nothing early and nothing late."""
        add_receipts(self.db, 2)
        self.db.sql("UPDATE webhook_inbox SET available_at = now() + interval '1 min', attempts = 1 WHERE event_id = 'evt_1'")
        for shift in ("+10m", "-10m"):
            run = subprocess.run(["faketime", "-f", shift, hook.OPERATOR, "worker", "--config", self.conf, "--drain"],
                                 env=hook.environment(ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0"),
                                 capture_output=True, text=True, timeout=30)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(self.db.sql("SELECT event_id FROM webhook_inbox WHERE processed_at IS NULL"), [("evt_1",)])
        self.assertEqual(self.db.one("SELECT attempts FROM webhook_inbox WHERE event_id = 'evt_1'"), "1")

    def test_batch_and_lease(self):
        """A batch begins nothing that might outlive its lease: no receipt is worked twice."""
        fail_with(self.db, "PERFORM pg_sleep(0.4)")
        add_receipts(self.db, 8)
        self.worker("--lease", "2s", "--timeout", "900ms", "--jobs", "2", wait=False)
        hook.wait_for(lambda: processed(self.db) == 8, 15)
        self.assertEach(8)
        self.assertEqual(self.db.count("webhook_inbox", "attempts > 1"), 0)

    def test_isolation(self):
        """A database whose default isolation is another one: workers in parallel do not fail."""
        self.db.sql("ALTER DATABASE %s SET default_transaction_isolation = 'repeatable read'" % self.db.name)
        add_receipts(self.db, 200)
        self.worker("--drain", "--jobs", "4")
        self.assertEach(200)

    def test_stuck_turn(self):
        """The worker whose turn it is to ask loses its session and gets no other: its siblings ask."""
        role = "turn%d" % os.getpid()
        self.db.sql("CREATE ROLE %s LOGIN SUPERUSER" % role)
        self.addCleanup(lambda: self.db.sql("DROP ROLE " + role))
        with open(self.conf) as f:
            text = f.read()
        with open(self.conf, "w") as f:
            f.write(text.replace("user=postgres", "user=" + role))
        parent = self.worker("--jobs", "2", wait=False)
        add_receipts(self.db, 40)
        hook.wait_for(lambda: processed(self.db) == 40)
        sessions = "FROM pg_stat_activity WHERE application_name = 'hookonce worker' AND datname = current_database()"
        hook.wait_for(lambda: self.db.one("SELECT count(*) " + sessions) == "2")
        self.db.sql("ALTER ROLE %s NOLOGIN" % role)
        self.db.sql("SELECT pg_terminate_backend(pid) FROM (SELECT pid %s ORDER BY query_start DESC LIMIT 1) AS poller" % sessions)
        self.db.sql("INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload) VALUES"
                    " ('stripe', 'billing', 'evt_turn', 'a.b', '{}')")
        hook.wait_for(lambda: processed(self.db) == 41, 4)
        self.assertIsNone(parent.poll())

    def test_second_host(self):
        """R156: a second worker that starts takes nothing of what the first one has in hand."""
        fail_with(self.db, "PERFORM pg_sleep(1.5)")
        add_receipts(self.db, 1)
        self.worker(wait=False)
        hook.wait_for(lambda: self.db.one("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1")
        self.worker("--drain")
        self.assertEqual(self.db.one("SELECT attempts FROM webhook_inbox"), "1")
        hook.wait_for(lambda: processed(self.db) == 1, 5)
        self.assertEach(1)

    def test_poison_and_failing(self):
        """A poison receipt in a batch costs its neighbours nothing; a failing one never holds
        back others."""
        fail_with(self.db, "PERFORM pg_terminate_backend(pg_backend_pid())", "NEW.id = 'in_7'")
        fail_with(self.db, "RAISE EXCEPTION 'always'", "NEW.id = 'in_3'", name="u")
        add_receipts(self.db, 20)
        p = self.worker(wait=False)
        hook.wait_for(lambda: processed(self.db) == 18)
        add_receipts_later = "INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload) VALUES" \
                             " ('stripe', 'billing', 'evt_late', 'a.b', '{}')"
        self.db.sql(add_receipts_later)
        hook.wait_for(lambda: processed(self.db) == 19, 3)
        self.assertEqual(self.db.count("webhook_inbox", "attempts = 1 AND processed_at IS NOT NULL"), 19)
        self.assertEqual(self.db.sql("SELECT event_id, left(last_error, 5) FROM webhook_inbox"
                                     " WHERE processed_at IS NULL ORDER BY 1"), [("evt_3", "P0001"), ("evt_7", "57P01")])
        self.assertIsNone(p.poll())

    def test_database_goes_away(self):
        """The database is restarted under two workers: they wait, come back by themselves, and
        nothing is lost or done twice."""
        p = self.worker("--jobs", "2", wait=False)
        add_receipts(self.db, 300)
        hook.wait_for(lambda: processed(self.db) > 0)
        hook.cluster("stop")
        time.sleep(1)
        hook.cluster("start")
        hook.wait_for(lambda: self.db.count("webhook_inbox", "processed_at IS NULL AND available_at <= now()") == 0, 30)
        self.db.sql("UPDATE webhook_inbox SET available_at = now() WHERE processed_at IS NULL")  # leases cut by the stop
        hook.wait_for(lambda: processed(self.db) == 300, 30)
        self.assertEach(300)
        self.assertIsNone(p.poll())

    def test_a_worker_that_dies_is_started_again(self):
        """A child killed with -9 is replaced; the parent killed with -9 leaves no orphan."""
        p = self.worker("--jobs", "2", wait=False)
        children = lambda: [int(c) for c in subprocess.run(["ps", "-o", "pid=", "--ppid", str(p.pid)],
                                                           capture_output=True, text=True).stdout.split()]
        first = hook.wait_for(lambda: len(children()) == 2 and children())
        os.kill(first[0], signal.SIGKILL)
        hook.wait_for(lambda: len(children()) == 2 and set(children()) != set(first))
        now = children()
        q = self.worker("--jobs", "2", wait=False)
        of_q = lambda: subprocess.run(["ps", "-o", "pid=", "--ppid", str(q.pid)], capture_output=True, text=True).stdout.split()
        hook.wait_for(lambda: len(of_q()) == 2)
        os.kill(int(of_q()[0]), signal.SIGKILL)
        time.sleep(1.5)
        q.terminate()
        q.communicate(timeout=10)
        self.assertEqual(q.returncode, 0, "a clean stop is one, whatever died before")
        p.kill()
        _, log = p.communicate()
        self.assertIn("was ended by signal 9: started again in 1 s", log)
        hook.wait_for(lambda: not any(os.path.exists("/proc/%d" % c) for c in now), 5)

    def test_sixteen_workers(self):
        """Sixteen workers on 5,000 receipts, some killed at random: 5,000 effects, none twice,
        none lost."""
        add_receipts(self.db, 5000)
        p = self.worker("--jobs", "16", "--lease", "3s", "--timeout", "2s", wait=False)
        killed, end = 0, time.monotonic() + 100
        while processed(self.db) < 5000:
            self.assertLess(time.monotonic(), end, processed(self.db))
            children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(p.pid)], capture_output=True, text=True).stdout.split()
            if children and killed < 30:
                os.kill(int(random.choice(children)), signal.SIGKILL)
                killed += 1
            time.sleep(0.1)
        self.assertEach(5000)
        self.assertGreater(killed, 5)
        self.assertEqual(self.db.count("webhook_reviews"), 0)

    def test_order_does_not_matter(self):
        """R152: four events each of 100 invoices, eight workers: the end states are right."""
        for event_type in ("invoice.paid", "invoice.updated", "invoice.finalized", "invoice.created"):
            self.db.sql("INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload, available_at)"
                        " SELECT 'stripe', 'billing', '%s' || n, '%s', jsonb_build_object('data', jsonb_build_object('object',"
                        " jsonb_build_object('id', 'in_' || n, 'status', 'open', 'amount_paid', n))),"
                        " now() - random() * interval '1 s' FROM generate_series(1, 100) AS n" % (event_type, event_type))
        self.worker("--jobs", "8", "--drain")
        self.assertEqual(processed(self.db), 400)
        self.assertEqual(self.db.sql("SELECT status, count(*) FROM invoices GROUP BY 1"), [("paid", "100")])
        self.assertEqual(self.db.count("ledger_entries"), 100)


class AfterTheAnswer(WorkerCase):
    def setUp(self):
        super().setUp()
        self.configure("async", top="drain = 3s")
        fail_with(self.db, "PERFORM pg_sleep(1.5)")

    def test_fastcgi(self):
        """Drain: the answer is complete and its connection closed before the work begins."""
        r = self.responder()
        r.request(hook.signed(b"{"), b"{")  # the configuration and libpq are there
        with r.connect() as s:
            began = time.monotonic()
            s.sendall(hook.fcgi_begin() + hook.fcgi_params(hook.signed(FIRST)) + hook.fcgi_stdin(FIRST))
            self.assertAnswer(hook.fcgi_answer(s), 200, "accepted")
            self.assertEqual(s.recv(1), b"", "the connection's end")
            self.assertLess(time.monotonic() - began, 1)
        self.assertEqual(processed(self.db), 0)
        hook.wait_for(lambda: processed(self.db) == 1, 5)
        self.assertEach(1)
        self.assertEqual(r.stop(), [0])

    def test_cgi(self):
        """The same as plain CGI: the server sees the end of stdout and stderr first."""
        r, w = os.pipe()
        er, ew = os.pipe()
        began = time.monotonic()
        p = subprocess.Popen([hook.FCGI], env={**self.env, **hook.signed(FIRST)}, stdin=subprocess.PIPE, stdout=w, stderr=ew)
        os.close(w)
        os.close(ew)
        p.stdin.write(FIRST)
        p.stdin.close()
        with os.fdopen(r, "rb") as out, os.fdopen(er, "rb") as err:
            self.assertIn(b'"accepted"', out.read())
            self.assertIn(b"outcome=accepted", err.read())
        self.assertLess(time.monotonic() - began, 1.2)
        self.assertEqual(processed(self.db), 0)
        self.assertEqual(p.wait(10), 0)
        self.assertEach(1)

    def test_budget(self):
        """Within its budget and no longer: what is left waits for the next one."""
        self.configure("async", top="drain = 200ms")
        add_receipts(self.db, 6)
        began = time.monotonic()
        self.assertAnswer(self.cgi(hook.paid("evt_new", invoice="in_new")), 200, "accepted")
        self.assertLess(time.monotonic() - began, 4)
        self.assertEqual(processed(self.db), 1)
        self.assertEqual(self.db.count("webhook_inbox", "attempts > 0 AND processed_at IS NULL"), 0)


if __name__ == "__main__":
    hook.main()
