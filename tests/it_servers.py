"""Every deployment of httpd-conf/ with a real web server: the same answers everywhere, and
what each server does in its own way pinned down (differs).
    B=build tests/run.sh it_servers
"""
import os
import pwd
import re
import shutil
import signal
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import hook
import servers
from servers import at_once, chunks, plain

PATH = "/webhooks/stripe"
MIB = 1 << 20
MULTI = "Grüße 世界 \U0001f680"  # two, three and four bytes a character
SLOWER = 3 if hook.SANITIZED else 1
PROCESSES = 8

# Further endpoints, so that a path that goes astray, or is cut differently, is seen.
OTHER = """
[endpoint short]
path = /stripe
provider = stripe
secret = file:/etc/hookonce.stripe.secret

[endpoint other]
path = /webhooks/stripe/other
provider = stripe
secret = file:/etc/hookonce.stripe.secret
"""

METHODS = ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "FOO")

# What is refused, after its status and reason: (name, body, headers).
REFUSALS = (
    (400, "signature_missing", "no signature", b"{}", {}),
    (400, "signature_malformed", "malformed", b"{}", {"Stripe-Signature": "t=1"}),
    (400, "signature_mismatch", "forged", b"{}", {"Stripe-Signature": hook.sign(b"{}", "whsec_other")}),
    (400, "signature_stale", "stale", b"{}", {"Stripe-Signature": hook.sign(b"{}", t=int(time.time()) - 3600)}),
    (400, "not_json", "no JSON", b"{no", None),
    (400, "not_json", "empty", b"", None),
    (400, "not_an_object", "no object", b'["evt_1"]', None),
    (400, "no_event_id", "no id", b'{"type": "invoice.paid"}', None),
    (400, "no_event_type", "no type", b'{"id": "evt_no_type"}', None),
    (415, "content_encoding", "gzip", hook.paid("evt_gzip"), {"Content-Encoding": "gzip"}),
)

# Odd paths: the server's normal form of our path, or 404; never another endpoint.
PATHS = (
    (PATH + "/", 200), (PATH + "//", 200), ("//webhooks//stripe", 200),
    ("/webhooks/../webhooks/stripe", 200), ("/webhooks/./stripe", 200), ("/webhooks/%73tripe", 200),
    (PATH + "/other/..", 200), ("/webhooks%2Fstripe", 200), (PATH + "/..", 404),
    (PATH + "/extra", 404), (PATH + "/extra/other", 404), (PATH + ";a", 404), (PATH + "%20", 404),
    (PATH + "x", 404), (PATH + "%00", 404), ("/WEBHOOKS/stripe", 404), ("/webhooks", 404),
    ("/webhooks/", 404), ("/webhooksX/x", 404), ("/stripe", 404),
    ("/webhooks/hookonce.fcgi", 404),
)


def error_lines(offset=0):
    with open(os.path.join(hook.SERVER, "server.log"), "rb") as f:
        f.seek(offset)
        return [line for line in f.read().decode().splitlines() if "ERROR" in line]


class Served:
    """What every deployment must do. A class names its configuration and what its server
    does in its own way: differs = {case: status}."""
    kind = conf = log = None
    group = "www-data"  # who may read the configuration: the group of hookonce.fcgi
    user = "www-data"
    spawned = False     # by spawn-fcgi.sh
    differs = {}
    path = PATH

    @classmethod
    def setUpClass(cls):
        cls.serial = 0
        cls.db = hook.Database()
        cls.addClassCleanup(cls.db.close)
        cls.web = cls.instance()
        cls.addClassCleanup(cls.end)
        cls.configure()
        cls.web.start()

    @classmethod
    def instance(cls):
        return servers.Instance(cls.kind, cls.conf, cls.group, cls.spawned, log=cls.log)

    @classmethod
    def configure(cls):
        cls.web.configure(cls.db, edit=lambda text: text + OTHER)

    @classmethod
    def end(cls):
        left = cls.web.stop()
        if left:
            raise AssertionError("left after the server's end: %s" % left)

    def event(self, **changes):
        """(id, body) of a new invoice.paid for an invoice of its own."""
        type(self).serial += 1
        name = "%s_%d" % (type(self).__name__, self.serial)
        changes.setdefault("invoice", "in_" + name)
        return "evt_" + name, hook.paid("evt_" + name, **changes)

    def sized(self, size):
        """A new event of exactly so many bytes."""
        name, body = self.event(description="@")
        return name, body.replace(b"@", b"x" * (size - len(body) + 1))

    def send(self, body, method="POST", path=None, headers=None, length=True):
        """A request, signed unless headers bring a signature of their own."""
        items = list(headers.items()) if isinstance(headers, dict) else list(headers or ())
        if not any(k == "Stripe-Signature" for k, _ in items):
            items.append(("Stripe-Signature", hook.sign(body)))
        return plain(hook.http(self.web.port, body, method, path or self.path, items, length))

    def stored(self, name):
        return self.db.count("webhook_inbox", "event_id = '%s'" % name)

    def expect(self, answer, status, word=None, case=None):
        """The table's answer, or this server's own under that case: then without our body."""
        if case in self.differs:
            self.assertEqual(answer.status, self.differs[case], "%s: %s" % (case, answer))
            return
        self.assertEqual(answer.status, status, "%s: %s" % (case, answer))
        if word is not None:
            self.assertEqual(answer.word, word, answer)
            self.assertEqual(answer.headers.get("content-type"), "application/json", answer.raw)
            self.assertEqual(answer.headers.get("cache-control"), "no-store", answer.raw)

    def expect_working(self):
        """A new delivery is taken at once."""
        name, body = self.event()
        self.expect(self.send(body), 200, "processed")
        self.assertEqual(self.stored(name), 1)

    def test_outcomes(self):
        """Table of answers: processed, duplicate, ignored and parked are exactly 200."""
        name, body = self.event()
        cases = ((body, "processed"), (body, "duplicate"),
                 (hook.event(name + "_i", "customer.created", {"id": "cus_1"}), "ignored"),
                 (hook.paid(name + "_p", "in_parked", amount_paid="20"), "parked"))
        for body, outcome in cases:
            with self.subTest(outcome):
                answer = self.send(body)
                self.expect(answer, 200, outcome)
                self.assertEqual(answer.body, b'{"outcome":"%s"}\n' % outcome.encode())
        self.assertEqual(self.db.sql("SELECT deliveries, outcome, processed_at IS NULL FROM webhook_inbox "
                                     "WHERE event_id LIKE '%s%%' ORDER BY event_id" % name),
                         [("2", "processed", "f"), ("1", "ignored", "f"), ("1", "", "t")])

    def test_methods(self):
        """R205, R206: another method is 405 with Allow: POST, and stores nothing."""
        name, body = self.event()
        for method in METHODS:
            with self.subTest(method):
                answer = self.send(b"" if method in ("GET", "HEAD") else body, method)
                self.expect(answer, 405, None, method)
                if method not in self.differs:
                    self.assertEqual(answer.headers.get("allow"), "POST", answer.raw)
                if method == "HEAD":
                    self.assertEqual(answer.body, b"", "HEAD has no body")
        self.assertEqual(self.stored(name), 0)

    def test_refusals(self):
        """Promise 5: what is refused gets its status and reason, and nothing is stored."""
        before = self.db.count("webhook_inbox")
        for status, word, case, body, headers in REFUSALS:
            with self.subTest(case):
                if case == "no signature":
                    answer = plain(hook.http(self.web.port, body, path=self.path))
                else:
                    answer = self.send(body, headers=headers)
                self.expect(answer, status, word, case)
        for length in ("-5", "12abc", "5,6", "1" + 20 * "0"):
            with self.subTest(length=length):
                answer = self.send(b"12345", headers={"Content-Length": length}, length=False)
                self.assertIn(answer.status, (400, 413), answer)
        self.assertEqual(self.db.count("webhook_inbox"), before)

    def test_query(self):
        """R189: a query string never becomes an argument of ours."""
        for query in ("-v", "-c+/etc/passwd", "--config+/etc/passwd", "worker", "-s", "a=b&HOOKONCE_CONF=/x"):
            with self.subTest(query):
                _, body = self.event()
                self.expect(self.send(body, path=self.path + "?" + query), 200, "processed")

    def test_headers(self):
        """A client's header cannot name another configuration."""
        _, body = self.event()
        answer = self.send(body, headers={"HOOKONCE-CONF": "/x", "HOOKONCE_CONF": "/x", "Proxy": "x",
                                          "DATABASE-URL": "x"})
        self.expect(answer, 200, "processed")

    def test_bytes(self):
        """R25, R35, R40: bodies of any size and coding arrive byte for byte."""
        for case, size, chunked in (("small", 400, False), ("over mod_fcgid's default", 138275, False),
                                    ("chunked small", 400, True), ("chunked 50 kB", 50000, True),
                                    ("largest", MIB, False)):
            with self.subTest(case):
                # \u0000 makes the exact bytes be kept
                name, body = self.sized(size)
                end = (MULTI + "\\u0000").encode()
                body = body.replace(b"x" * len(end), end, 1)
                self.assertEqual(len(body), size)
                if chunked:
                    answer = self.send(chunks(body), length=False, headers={
                        "Transfer-Encoding": "chunked", "Stripe-Signature": hook.sign(body)})
                else:
                    answer = self.send(body)
                self.expect(answer, 200, "processed", case)
                self.assertEqual(self.stored(name), int(answer.status == 200))
                if answer.status != 200:
                    continue
                self.assertEqual(self.db.one("SELECT encode(raw_body, 'hex') FROM webhook_inbox "
                                             "WHERE event_id = '%s'" % name), body.hex())
                self.assertEqual(self.db.one("SELECT payload #>> '{data,object,description}' FROM webhook_inbox"
                                             " WHERE event_id = '%s'" % name)[:len(MULTI)], MULTI)


class Deployed(Served):
    """What a whole server with a configuration of httpd-conf/ must do besides."""
    refuses = True  # the server itself refuses a body over the limit

    def processes(self):
        """The responders that stay from request to request."""
        return set()

    def test_paths(self):
        """R192, R208: odd paths are the same endpoint or none, and never redirected."""
        _, body = self.event()
        self.expect(self.send(body, path=self.path + "/other"), 200, "processed")
        others = self.db.count("webhook_inbox", "endpoint = 'other'")
        self.assertEqual(others, 1)
        for path, status in PATHS:
            with self.subTest(path):
                name, body = self.event()
                answer = self.send(body, path=path.replace(PATH, self.path, 1))
                self.expect(answer, status, None, path)
                self.assertEqual(self.stored(name), int(answer.status == 200))
        self.assertEqual(self.db.count("webhook_inbox", "endpoint = 'other'"), others)

    def test_two_signature_headers(self):
        """R02: two signature headers that the server joins are read as one."""
        _, body = self.event()
        t, v1 = hook.sign(body).split(",")
        answer = self.send(body, headers=[("Stripe-Signature", t + ",v1=bad"), ("Stripe-Signature", v1)])
        self.expect(answer, 200, "processed", "two headers")

    def test_too_large(self):
        """R44: a body over the limit is refused every time, and the server lives on."""
        for case, chunked in (("1 byte over", False), ("chunked over", True)):
            with self.subTest(case):
                name, body = self.sized(MIB + 1)
                headers = {"Transfer-Encoding": "chunked"} if chunked else {}
                answer = self.send(chunks(body, 65536) if chunked else body, length=not chunked,
                                   headers={"Stripe-Signature": hook.sign(body), **headers})
                self.expect(answer, 413, None, case)
                self.assertEqual(b"body_too_large" in answer.body, not self.refuses, answer)
                self.assertEqual(self.stored(name), 0)
        processes = self.processes()
        body = self.sized(2 * MIB)[1]
        for _ in range(20):
            self.expect(self.send(body), 413)
        self.assertEqual(processes - self.processes(), set(), "a process died")
        self.expect_working()

    def test_expect_continue(self):
        """R39: Expect: 100-continue does not hold up a delivery."""
        _, body = self.sized(2048)
        began = time.monotonic()
        answer = self.send(body, headers={"Expect": "100-continue"})
        self.expect(answer, 200, "processed")
        self.assertLess(time.monotonic() - began, 2 * SLOWER)

    def test_log(self):
        """The log line of a delivery is in the server's error log."""
        name, body = self.event()
        self.expect(self.send(body), 200, "processed")
        line = hook.wait_for(lambda: [l for l in self.web.log.splitlines() if name in l], 5, "the log line")
        self.assertEqual(len(line), 1, line)
        self.assertRegex(line[0], 'hookonce: ts=.* status=200 endpoint=billing outcome=processed event="%s"' % name)
        self.assertNotIn("v1=", line[0])

    def lock(self, invoice):
        """The row of an invoice, there and locked by another session."""
        self.db.sql("INSERT INTO invoices (id, status) VALUES ('%s', 'open')" % invoice)
        return servers.Lock(self.db, "SELECT 1 FROM invoices WHERE id = '%s' FOR UPDATE" % invoice)

    def waiting_for_locks(self):
        return int(self.db.one("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                               "AND wait_event_type = 'Lock'"))

    def test_client_hangs_up(self):
        """R197: the client that does not wait for its answer is served all the same, and one
        that breaks off in its body stores nothing."""
        processes = self.processes()
        name, body = self.event(invoice="in_gone")
        with self.lock("in_gone"):
            with hook.socket.create_connection(("127.0.0.1", self.web.port)) as s:
                s.sendall(servers.message(body, self.path))
                hook.wait_for(self.waiting_for_locks, 10 * SLOWER, "the delivery to wait for the lock")
        hook.wait_for(lambda: self.stored(name), 10 * SLOWER, "COMMIT")
        half, body = self.event()
        with hook.socket.create_connection(("127.0.0.1", self.web.port)) as s:
            s.sendall(servers.message(body, self.path, len(body) + 1000))
        self.expect_working()
        self.assertEqual(self.db.one("SELECT deliveries FROM webhook_inbox WHERE event_id = '%s'" % name), "1")
        self.assertEqual(self.stored(half), 0)
        self.assertEqual(processes - self.processes(), set(), "a process died")

    def test_blocked(self):
        """R180, R200, R204: every process waits for a lock, and more requests are there. Our
        time-out comes before the server's and rolls back; other pages are served; all is well
        when the lock is gone. The program runs without root's rights."""
        uid = pwd.getpwnam(self.user).pw_uid
        events = [self.event(invoice="in_locked") for _ in range(PROCESSES + 4)]
        with self.lock("in_locked"), ThreadPoolExecutor(len(events)) as pool:
            began = time.monotonic()
            took = []

            def deliver(body):
                answer = self.send(body)
                took.append(time.monotonic() - began)
                return answer

            answers = [pool.submit(deliver, body) for _, body in events]
            hook.wait_for(lambda: self.waiting_for_locks() >= PROCESSES, 10 * SLOWER, "processes to wait")
            running = self.web.responders()
            uids = {os.stat("/proc/%d" % pid).st_uid for pid in running}
            other = time.monotonic()
            page = self.send(b"", "GET", "/other-site")
            other = time.monotonic() - other
            answers = [a.result() for a in answers]
        self.assertEqual(uids, {uid})
        self.assertEqual(page.status, 404, page)
        self.assertLess(other, 1 * SLOWER)
        for answer in answers:
            self.expect(answer, 503, "database_timeout")
            self.assertGreater(int(answer.headers.get("retry-after", "0")), 0, answer.raw)
        self.assertLess(sorted(took)[PROCESSES - 1], 6 * SLOWER)
        self.assertLess(max(took), 12 * SLOWER)
        self.assertEqual(sum(self.stored(name) for name, _ in events), 0)
        began = time.monotonic()
        self.expect(self.send(events[0][1]), 200, "processed")
        self.assertLess(time.monotonic() - began, 2 * SLOWER)

    def test_duplicates(self):
        """R107: 50 duplicates one after another and 50 at once are 200, and PostgreSQL has
        no error to tell."""
        name, body = self.event()
        offset = os.path.getsize(os.path.join(hook.SERVER, "server.log"))
        answers = [self.send(body) for _ in range(50)]
        answers += at_once(self.web.port, [body] * 50, self.path)
        self.assertEqual([a.status for a in answers], [200] * 100, [a for a in answers if a.status != 200])
        self.assertEqual(sorted(a.word for a in answers), ["duplicate"] * 99 + ["processed"])
        self.assertEqual(error_lines(offset), [])
        self.assertEqual(self.db.one("SELECT deliveries FROM webhook_inbox WHERE event_id = '%s'" % name), "100")

    def test_same_moment(self):
        """Promise 2, the article's test: eight deliveries of one event at one moment, one is
        processed; and where the first one fails, one of the others is."""
        name, body = self.event(invoice="in_moment")
        answers = at_once(self.web.port, [body] * 8, self.path)
        self.assertEqual(sorted((a.status, a.word) for a in answers),
                         [(200, "duplicate")] * 7 + [(200, "processed")], answers)
        self.assertEqual(self.db.count("ledger_entries", "invoice_id = 'in_moment'"), 1)
        self.db.sql("""CREATE SEQUENCE tried;
            CREATE FUNCTION first_fails() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF nextval('tried') = 1 THEN PERFORM pg_sleep(0.1); RAISE 'the first one fails'; END IF;
            RETURN NEW; END $$;
            CREATE TRIGGER first_fails BEFORE INSERT ON invoices FOR EACH ROW
            WHEN (NEW.id = 'in_fails') EXECUTE FUNCTION first_fails()""")
        self.addCleanup(self.db.sql, "DROP FUNCTION first_fails() CASCADE; DROP SEQUENCE tried")
        name, body = self.event(invoice="in_fails")
        answers = at_once(self.web.port, [body] * 8, self.path)
        self.assertEqual(sorted((a.status, a.word) for a in answers),
                         [(200, "duplicate")] * 6 + [(200, "processed"), (500, "handler_failed")], answers)
        self.assertEqual(self.db.count("ledger_entries", "invoice_id = 'in_fails'"), 1)
        self.assertEqual(self.db.one("SELECT deliveries FROM webhook_inbox WHERE event_id = '%s'" % name), "7")

    def test_three_events_of_a_payment(self):
        """R108, promise 3: three events of one payment at one moment, and the payment under
        another event id, 20 rounds: one invoice row and one ledger row each."""
        shipped = [hook.fixture("2023-10-16/" + f) for f in
                   ("05-invoice.paid.json", "06-invoice.payment_succeeded.json",
                    "03-invoice.updated.json", "05-invoice.paid.json")]
        for i in range(20):
            bodies = []
            for n, body in enumerate(shipped):
                body = body.replace(b"in_1FxTstBKur83NY56MhvazZho", b"in_three_%d" % i)
                bodies.append(re.sub(rb'"id": "evt_\w+"', b'"id": "evt_three_%d_%d"' % (i, n), body, 1))
            answers = at_once(self.web.port, bodies, self.path)
            self.assertEqual([(a.status, a.word) for a in answers],
                             [(200, "processed"), (200, "ignored")] + [(200, "processed")] * 2, answers)
        self.assertEqual(self.db.sql("SELECT count(*), min(status), max(status), min(amount_paid) "
                                     "FROM invoices WHERE id LIKE 'in\\_three%'"), [("20", "paid", "paid", "2000")])
        self.assertEqual(self.db.sql("SELECT count(*), sum(amount) FROM ledger_entries "
                                     "WHERE invoice_id LIKE 'in\\_three%'"), [("20", "40000")])


class FastCgi(Deployed):
    """Where the processes stay, up to a fixed number."""

    def processes(self):
        return set(self.web.responders())

    def test_crowd(self):
        """R180, R204: all processes are blocked and 50 more requests come: no more processes
        than the limit, other pages are served, and nothing is lost when the block is gone."""
        events = [self.event(invoice="in_crowd") for _ in range(PROCESSES + 50)]
        with ThreadPoolExecutor(len(events)) as pool:
            with self.lock("in_crowd"):
                answers = [pool.submit(self.send, body) for _, body in events]
                hook.wait_for(lambda: self.waiting_for_locks() == PROCESSES, 10 * SLOWER, "processes to wait")
                began = time.monotonic()
                page = self.send(b"", "GET", "/other-site")
                took = time.monotonic() - began
                running = len(self.web.responders())
            answers = [a.result() for a in answers]
        self.assertEqual(page.status, 404, page)
        self.assertLess(took, 1 * SLOWER)
        self.assertEqual(running, PROCESSES)
        for (name, _), answer in zip(events, answers):
            self.assertIn(answer.status, (200, 503), answer)
            self.assertEqual(self.stored(name), int(answer.status == 200))
        self.expect_working()


class DatabaseDown:
    def test_database_down(self):
        """Promise 6: without a database the answer is 503 in time, and the processes live on."""
        self.expect_working()
        processes = self.processes()
        self.addCleanup(hook.cluster, "start")
        hook.cluster("stop")
        name, body = self.event()
        began = time.monotonic()
        answer = self.send(body)
        self.assertLess(time.monotonic() - began, 6)
        self.assertEqual(answer.status, 503, answer)
        self.assertIn(answer.word, ("database_unavailable", "database_lost"))
        self.assertGreater(int(answer.headers["retry-after"]), 0)
        hook.cluster("start")
        self.expect(self.send(body), 200, "processed")
        self.assertEqual(self.stored(name), 1)
        self.assertEqual(self.processes(), processes)


class Reloads:
    def test_reloads(self):
        """R181: graceful reloads under load: no answer is wrong, no process is left over."""
        before = set(self.web.responders())
        stop, answers = [], []

        def load():
            while not stop:
                answers.append(self.send(self.event()[1]))
                time.sleep(0.02)

        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(load) for _ in range(2)]
            try:
                for _ in range(5):
                    seen = len(answers)
                    self.web.reload()
                    hook.wait_for(lambda: len(answers) > seen + 20, 20, "answers after a reload")
            finally:
                stop.append(True)
            for run in runs:
                run.result()
        wrong = [a for a in answers if a.status != 200 or a.word not in ("processed", "duplicate")]
        self.assertEqual(wrong, [])
        hook.wait_for(lambda: not before & set(self.web.responders()), 20, "the old processes to end")
        hook.wait_for(lambda: not self.web.strays(), 20, "zombies and orphans to go")
        self.assertLessEqual(len(self.web.responders()), PROCESSES)
        self.expect_working()


class Spawned(FastCgi):
    """Behind spawn-fcgi.sh, under a user of its own."""
    group = servers.SPAWN_USER[1]
    user = servers.SPAWN_USER[0]
    spawned = True

    def kill_spawner(self):
        self.web.spawner.send_signal(signal.SIGKILL)
        self.web.spawner.wait()

    def test_spawner_killed(self):
        """R196, R194: after kill -9 the stale socket is in nobody's way, under any umask the
        socket is 0660 and the web server comes through, soon also when it saw the gap."""
        for umask in (0o077, 0o022):
            with self.subTest("umask %03o" % umask):
                old = self.web.responders()
                self.kill_spawner()
                hook.wait_for(lambda: not set(old) & set(self.web.responders()), 5, "the processes to end")
                self.assertTrue(os.path.exists(self.web.socket))
                self.assertIn(self.send(self.event()[1]).status, (500, 502, 503))
                self.web.spawn(umask=umask)
                st = os.stat(self.web.socket)
                self.assertEqual((oct(st.st_mode & 0o777), st.st_uid, st.st_gid),
                                 ("0o660", pwd.getpwnam(self.user).pw_uid, pwd.getpwnam("www-data").pw_gid))
                hook.wait_for(lambda: self.send(self.event()[1]).status == 200, 4, "the server to try again")

    def test_second_spawner(self):
        """A second start gives up, and takes nothing away from the first."""
        before = set(self.web.responders())
        first, self.web.spawner = self.web.spawner, None
        try:
            second = self.web.start_spawner()
            self.assertNotEqual(second.wait(10), 0)
        finally:
            self.web.spawner = first
        self.assertEqual(set(self.web.responders()), before)
        self.expect_working()


class LighttpdBinPath(DatabaseDown, Reloads, FastCgi, unittest.TestCase):
    kind, conf = "lighttpd", "lighttpd-binpath.conf"
    differs = {"FOO": 501, PATH + "%00": 400}


class LighttpdSpawn(Spawned, unittest.TestCase):
    kind, conf = "lighttpd", "lighttpd-spawn.conf"
    differs = LighttpdBinPath.differs


class LighttpdCgi(Deployed, unittest.TestCase):
    kind, conf, log = "lighttpd", "lighttpd-cgi.conf", "stderr"
    differs = LighttpdBinPath.differs


class ApacheFcgid(Reloads, FastCgi, unittest.TestCase):
    kind, conf = "apache", "apache-fcgid.conf"
    differs = {"/webhooks%2Fstripe": 404, "chunked over": 500}


class ApacheProxyFcgi(DatabaseDown, Spawned, unittest.TestCase):
    kind, conf, refuses = "apache", "apache-proxy-fcgi.conf", False
    differs = {"/webhooks%2Fstripe": 404}


class ApacheCgid(Deployed, unittest.TestCase):
    kind, conf = "apache", "apache-cgid.conf"
    differs = {"/webhooks%2Fstripe": 404}


class Nginx(Spawned, unittest.TestCase):
    kind, conf = "nginx", "nginx.conf"
    differs = {PATH + "%00": 400}


class LighttpdPaths(hook.Case):
    """lighttpd parts a path into SCRIPT_NAME and PATH_INFO in many ways."""
    shipped = '"/webhooks" => (('
    program = '".fcgi" => (('
    fix = '"fix-root-scriptname" => "enable", '

    # (what stands for the shipped prefix, whether check-local is turned on, path, status)
    variations = (
        (shipped, False, PATH, 200),
        (shipped + fix, False, PATH, 200),
        ('"/webhooks/" => ((', False, PATH, 200),
        ('"/webhooks/stripe" => ((', False, PATH, 200),
        ('"/" => ((', False, PATH, 200),
        ('"/" => ((' + fix, False, PATH, 200),
        (program, False, "/hookonce.fcgi" + PATH, 200),
        (program, True, "/hookonce.fcgi" + PATH, 200),
        (program + fix, True, "/hookonce.fcgi" + PATH, 200),
        (shipped, True, PATH, 404),  # such a file is not there: hence "disable"
    )

    def check(self, prefix, local, path, status):
        def edit(text):
            self.assertIn(self.shipped, text)
            text = text.replace(self.shipped, prefix)
            return text.replace('"check-local" => "disable"', '"check-local" => "enable"') if local else text

        web = servers.Instance("lighttpd", "lighttpd-binpath.conf", edit=edit)
        self.addCleanup(web.stop)
        web.configure(self.db)
        web.write("/var/www/html/hookonce.fcgi", "")
        web.start()
        for path, status in ((path, status), (path + "/", status), (path + "/extra", 404)):
            before = self.db.count("webhook_inbox")
            body = hook.paid("evt_%d" % before)
            answer = plain(hook.deliver(web.port, body, path=path))
            self.assertEqual(answer.status, status, "%s: %s" % (path, answer))
            self.assertEqual(self.db.count("webhook_inbox") - before, int(status == 200))

    def test_paths(self):
        """R191: the same endpoint, however lighttpd's prefix, check-local and
        fix-root-scriptname are set."""
        for row in self.variations:
            with self.subTest(row):
                self.check(*row)


class Htaccess(Served):
    """A shared host's Apache, which lets .htaccess set FileInfo and Options, and no more."""
    kind = "apache"
    path = "/pay/hookonce.fcgi" + PATH
    handler = None
    host = """
LoadModule env_module /usr/lib/apache2/modules/mod_env.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so
LoadModule cgid_module /usr/lib/apache2/modules/mod_cgid.so
TypesConfig /etc/mime.types
ScriptSock /run/apache2/cgisock
DocumentRoot /var/www/html
<Directory /var/www/html>
    AllowOverride FileInfo Options
    Require all granted
</Directory>
<Files ".ht*">
    Require all denied
</Files>
"""

    @classmethod
    def instance(cls):
        web = servers.Instance(cls.kind, "apache-fcgid.conf",
                               edit=lambda text: text.partition("# --- hookonce")[0] + cls.host)
        pay = web.path("/var/www/html/pay")
        os.mkdir(pay)
        shutil.copy(hook.FCGI, pay)
        text = web.shipped("htaccess.example").replace("#Rewrite", "Rewrite")
        if cls.handler == "cgi":
            text = text.replace("\nAddHandler fcgid", "\n#AddHandler fcgid")
            text = text.replace("\n#AddHandler cgi", "\nAddHandler cgi")
        web.write("/var/www/html/pay/.htaccess", web.own(text))
        return web

    @classmethod
    def configure(cls):
        cls.web.configure(cls.db, "/home/me/private/hookonce.conf")

    def test_address(self):
        """R192: a rewritten address is the same endpoint, a final slash aside."""
        for path in ("/pay/stripe", "/pay/stripe/", self.path + "/"):
            with self.subTest(path):
                name, body = self.event()
                self.expect(self.send(body, path=path), 200, "processed")
                self.assertEqual(self.stored(name), 1)
        for path in ("/pay/hookonce.fcgi", "/pay/hookonce.fcgi/stripe", "/pay/stripe/extra"):
            with self.subTest(path):
                self.assertEqual(self.send(self.event()[1], path=path).status, 404)

    def test_nothing_is_shown(self):
        """Neither the program nor where its configuration is can be read."""
        for path, status in (("/pay/hookonce.fcgi", 405), ("/pay/.htaccess", 403), ("/pay/", 404)):
            with self.subTest(path):
                answer = self.send(b"", "GET", path)
                self.assertEqual(answer.status, status, answer)
                self.assertNotIn(b"/home/me", answer.body)

    def test_log(self):
        """The log line of a delivery is in the host's error log."""
        name, body = self.event()
        self.expect(self.send(body), 200, "processed")
        hook.wait_for(lambda: name in self.web.log, 5, "the log line")


class HtaccessFcgid(Htaccess, unittest.TestCase):
    # the host's FcgidMaxRequestLen is its default
    differs = {"over mod_fcgid's default": 500, "largest": 500}


class HtaccessCgi(Htaccess, unittest.TestCase):
    handler = "cgi"


if __name__ == "__main__":
    hook.main()
