"""Plain CGI: environment and stdin, no web server. Every row of the answers table, and
every mistake of a configuration."""
import os
import subprocess
import time
import unittest

import hook

EVENT = hook.paid("evt_1")


class Answers(hook.Case):
    def stored(self):
        return self.db.count("webhook_inbox")

    def test_outcomes(self):
        """Promise 1: 200 exactly, with the outcome, and the headers of every answer."""
        for body, word in ((EVENT, "processed"), (EVENT, "duplicate"),
                           (hook.event("evt_2", "a.b", {}), "ignored"),
                           (hook.paid("evt_3", amount_paid="20"), "parked")):
            a = self.cgi(body)
            self.assertAnswer(a, 200, word)
            self.assertEqual(a.headers["content-type"], "application/json")
            self.assertEqual(a.headers["cache-control"], "no-store")
            self.assertEqual(int(a.headers["content-length"]), len(a.body))
            self.assertTrue(a.raw.startswith(b"Status: 200 "), a.raw)  # R187: nothing before it
            self.assertEqual(a.code, 0)
        self.assertEqual(self.stored(), 3)

    def test_methods(self):
        """R205, R206: another method is refused with Allow, before anything else is looked at."""
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "post", "TRACE", ""):
            a = hook.cgi(self.env, hook.signed(EVENT, method=method), EVENT)
            self.assertAnswer(a, 405, "method_not_allowed")
            self.assertEqual(a.headers["allow"], "POST")
        self.assertEqual(self.stored(), 0)

    def test_lengths(self):
        """R28, R30, R32, R33: a length is a plain decimal, and the body has it."""
        for value, status, word in (("-5", 400, "length_malformed"), ("12abc", 400, "length_malformed"),
                                    (" 12 ", 400, "length_malformed"), ("0x10", 400, "length_malformed"),
                                    ("+12", 400, "length_malformed"), ("1e3", 400, "length_malformed"),
                                    ("-268435455700", 400, "length_malformed"),
                                    ("${jndi:ldap://x}", 400, "length_malformed"),
                                    ("1" * 40, 413, "body_too_large"), ("1048577", 413, "body_too_large"),
                                    ("500", 400, "body_short"), ("", 411, "length_required"),
                                    (None, 411, "length_required")):
            a = hook.cgi(self.env, hook.signed(EVENT, CONTENT_LENGTH=value), EVENT)
            self.assertAnswer(a, status, word)
            self.assertEqual(a.log.count("\n"), 1)
        self.assertEqual(self.stored(), 0)

    def test_no_length_does_not_wait(self):
        """R33: without a length nothing is read: the answer comes while stdin is still open."""
        began = time.monotonic()
        p = subprocess.Popen([hook.FCGI], env={**self.env, **hook.signed(EVENT, length=False)},
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertIn(b"Status: 411", p.stdout.read())
        self.assertEqual(p.wait(), 0)
        self.assertLess(time.monotonic() - began, 3)
        p.stdin.close()
        p.stdout.close()

    def test_chunked(self):
        """A chunked body, as mod_cgid passes it, is bounded by its own end, and by the limit."""
        a = self.cgi(EVENT, length=False, headers={"Transfer-Encoding": "chunked"})
        self.assertAnswer(a, 200, "processed")
        long = b"x" * ((1 << 20) + 1)
        a = self.cgi(long, length=False, headers={"Transfer-Encoding": "chunked"})
        self.assertAnswer(a, 413, "body_too_large")

    def test_limit(self):
        """Exactly max_body is taken, one byte more is refused by its length."""
        body = hook.paid("evt_max", note="")
        body = body[:-3] + b" " * ((1 << 20) - len(body)) + body[-3:]
        self.assertEqual(len(body), 1 << 20)
        self.assertAnswer(self.cgi(body), 200, "processed")
        self.assertAnswer(self.cgi(body + b" "), 413, "body_too_large")

    def test_refused_body_is_drained(self):
        """R45: a body that is refused is read to its end, so that the peer sees the answer."""
        body = b"x" * (5 << 20)
        p = subprocess.Popen([hook.FCGI], env={**self.env, **hook.signed(body)}, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p.stdin.write(body)  # would raise EPIPE if the program left early
        p.stdin.close()
        self.assertIn(b"Status: 413", p.stdout.read())
        p.stdout.close()
        p.wait()

    def test_body_in_pieces(self):
        """R42: a body that comes in pieces is read whole."""
        body = hook.paid("evt_pieces", note="x" * 300000)
        p = subprocess.Popen([hook.FCGI], env={**self.env, **hook.signed(body)}, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        at, step = 0, 1000
        while at < len(body):
            p.stdin.write(body[at:at + step])
            p.stdin.flush()
            at, step = at + step, step % 7000 + 997
            time.sleep(0.002)
        p.stdin.close()
        self.assertIn(b"processed", p.stdout.read())
        p.stdout.close()
        p.wait()

    def test_slow_body(self):
        """A body that does not come ends at its time limit, and nothing is stored."""
        p = subprocess.Popen([hook.FCGI], env={**self.env, **hook.signed(EVENT)}, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        began = time.monotonic()
        p.stdin.write(EVENT[:20])
        p.stdin.flush()
        self.assertIn(b'"error":"body_slow"', p.stdout.read())
        self.assertLess(time.monotonic() - began, 13)
        p.stdin.close()
        p.stdout.close()
        p.wait()
        self.assertEqual(self.stored(), 0)

    def test_encoding(self):
        """R36, R37: an encoded body is refused by its header, identity is none."""
        for encoding in ("gzip", "br", "GZIP", "gzip, identity"):
            a = self.cgi(EVENT, headers={"Content-Encoding": encoding})
            self.assertAnswer(a, 415, "content_encoding")
            self.assertIn(encoding, a.log)
        self.assertEqual(self.stored(), 0)
        self.assertAnswer(self.cgi(EVENT, headers={"Content-Encoding": "Identity"}), 200)

    def test_signatures(self):
        """Promise 5: absent, malformed, forged and stale are told apart, and nothing is stored."""
        good = hook.sign(EVENT)
        for header, word in ((None, "signature_missing"), ("", "signature_missing"),
                             ("hello", "signature_malformed"), ("t=1", "signature_malformed"),
                             (good[:-1] + ("0" if good[-1] != "0" else "1"), "signature_mismatch"),
                             (hook.sign(EVENT, "whsec_other"), "signature_mismatch"),
                             (hook.sign(EVENT + b" "), "signature_mismatch"),
                             (hook.sign(EVENT, t=int(time.time()) - 310), "signature_stale"),
                             (good + ",t=1", "timestamp_given_twice")):
            a = hook.cgi(self.env, hook.variables(EVENT, HTTP_STRIPE_SIGNATURE=header), EVENT)
            self.assertAnswer(a, 400, word)
            if header:
                self.assertNotIn(good[-64:], a.log + a.raw.decode())  # R22
                self.assertNotIn(hook.SECRET, a.log + a.raw.decode())
        self.assertEqual(self.stored(), 0)

    def test_clock(self):
        """R07: the past is bounded, the future passes, a skew is told in seconds."""
        now = int(time.time())
        for t, status, skew in ((now - 290, 200, None), (now - 310, 400, "skew=31"),
                                (now + 290, 200, None), (now + 310, 200, "skew=-3")):
            a = hook.cgi(self.env, hook.signed(EVENT, t=t), EVENT)
            self.assertEqual(a.status, status, a)
            if skew:
                self.assertIn(skew, a.log)
            else:
                self.assertNotIn("skew", a.log)

    def test_events(self):
        """R61-R63, R57: what is no event is refused, and nothing is stored."""
        for body, word in ((b"", "not_json"), (b" \n", "not_json"), (b"{", "not_json"),
                           (b"hello", "not_json"), (b'{"id":NaN}', "not_json"),
                           (b"\xef\xbb\xbf" + EVENT, "not_json"), (EVENT + b"\0", "not_json"),
                           (b"null", "not_an_object"), (b"[]", "not_an_object"),
                           (b'"x"', "not_an_object"), (b"1", "not_an_object"), (b"{}", "no_event_id"),
                           (b'{"id":"","type":"a"}', "no_event_id"), (b'{"id":1,"type":"a"}', "no_event_id"),
                           (b'{"id":"a\\u0000b","type":"a"}', "no_event_id"),
                           (b'{"id":"%s","type":"a"}' % (b"x" * 256), "no_event_id"),
                           (b'{"id":"a"}', "no_event_type"), (b'{"id":"a","type":""}', "no_event_type"),
                           (b'{"id":"a","type":"b","x":%s}' % (b"[" * 600 + b"]" * 600), "json_too_deep"),
                           (b'{"id":"a","type":"b","account":1}', "bad_account")):
            self.assertAnswer(self.cgi(body), 400, word)
        self.assertEqual(self.stored(), 0)

    def test_arguments_are_ignored(self):
        """R189: a query string that became arguments changes nothing."""
        a = self.cgi(EVENT, argv=["-c", "/etc/passwd", "--help", "worker"])
        self.assertAnswer(a, 200, "processed")

    def test_refused_without_libpq(self):
        """A request that is refused before the database does not even load its libraries."""
        for body, header in ((EVENT, hook.sign(EVENT, "whsec_other")), (b"{", hook.sign(b"{"))):
            run = subprocess.run(["strace", "-f", "-e", "trace=openat,connect", hook.FCGI],
                                 env={**self.env, **hook.variables(body, HTTP_STRIPE_SIGNATURE=header),
                                      "ASAN_OPTIONS": "detect_leaks=0"},
                                 input=body, capture_output=True)
            self.assertIn(b"Status: 400", run.stdout)
            self.assertNotIn(b"libpq", run.stderr)
            self.assertNotIn(b"PGSQL", run.stderr)
        run = subprocess.run(["strace", "-f", "-e", "trace=openat,connect", hook.FCGI],
                             env={**self.env, **hook.signed(EVENT), "ASAN_OPTIONS": "detect_leaks=0"},
                             input=EVENT, capture_output=True)
        self.assertIn(b"libpq", run.stderr)  # the test sees it where it is

    def test_database_errors(self):
        """Promise 1, R103: any failure of ours is no 2xx, and the next delivery is processed."""
        self.db.sql("ALTER TABLE ledger_entries ADD CONSTRAINT never CHECK (amount < 0)")
        a = self.cgi(EVENT)
        self.assertAnswer(a, 500, "handler_failed")
        self.assertIn("23514", a.log)
        self.assertNotIn("1200", a.log)
        self.assertEqual(self.stored(), 0)
        self.db.sql("ALTER TABLE ledger_entries DROP CONSTRAINT never; ALTER TABLE outbox RENAME TO o")
        self.assertAnswer(self.cgi(EVENT), 500, "schema_missing")
        self.db.sql("ALTER TABLE o RENAME TO outbox")
        self.assertAnswer(self.cgi(EVENT), 200, "processed")

    def test_database_down(self):
        """503 with Retry-After, within 6 s, and told why in the log alone."""
        for url, word in (("host=/nonexistent dbname=x", "database_unavailable"),
                          (self.db.url + "_none", "database_unavailable")):
            began = time.monotonic()
            a = hook.cgi({**self.env, "DATABASE_URL": url}, hook.signed(EVENT), EVENT)
            self.assertAnswer(a, 503, word)
            self.assertIn("retry-after", a.headers)
            self.assertLess(time.monotonic() - began, 6)
            self.assertIn('database="', a.log)
            self.assertNotIn(b"nonexistent", a.raw)

    def test_log_cannot_be_forged(self):
        """R210: one escaped, capped line whatever comes in."""
        nasty = "evt\u202e\u009b31m" + "x" * 100
        a = self.cgi(hook.event(nasty, "t\u2028=1 status=200", {}), path="/a\nstatus=200\x1b[2J")
        self.assertEqual(a.log.count("\n"), 1, a.log)
        a = hook.cgi(self.env, hook.signed(EVENT, method="PO\nST\x1b" + "x" * 9000), EVENT)
        self.assertEqual(a.log.count("\n"), 1, a.log)
        self.assertLess(len(a.log), 1025)
        self.assertNotRegex(a.log, "[^\x20-\x7e\n]")

    def test_log_line(self):
        """One line a request: what happened, to what, how it was signed, how long it took."""
        a = self.cgi(EVENT)
        self.assertRegex(a.log, r'^hookonce: ts=\S+Z status=200 endpoint=billing outcome=processed '
                                r'event="evt_1" type="invoice.paid" secret=1 bytes=%d ms=\d+\n$' % len(EVENT))
        a = self.cgi(hook.paid("evt_1", invoice="in_other"))
        self.assertIn("body=differs", a.log)  # R80

    def test_blocked_log(self):
        """R184: a log that nobody reads holds up no request."""
        r, w = os.pipe()
        os.set_blocking(w, False)
        try:
            while True:
                os.write(w, b"x" * 65536)
        except BlockingIOError:
            pass
        os.set_blocking(w, True)
        run = subprocess.run([hook.FCGI], env={**self.env, **hook.signed(EVENT)}, input=EVENT,
                             stdout=subprocess.PIPE, stderr=w, timeout=20)
        self.assertIn(b"processed", run.stdout)
        os.close(r)
        os.close(w)


class Configuration(hook.Case):
    def setUp(self):
        super().setUp()
        self.file = os.path.join("/tmp", "hookonce-test-%d.conf" % os.getpid())
        self.secret = self.file + ".secret"
        self.addCleanup(lambda: [os.unlink(f) for f in (self.file, self.secret) if os.path.exists(f)])
        with open(self.secret, "w") as f:
            f.write(hook.SECRET + " \n")
        os.chmod(self.secret, 0o600)
        self.env = hook.environment(HOOKONCE_CONF=self.file)
        self.good = ("database = %s\n[endpoint billing]\npath = /stripe/billing\nprovider = stripe\n"
                     "secret = file:%s\n" % (self.db.url, self.secret))

    def write(self, text, mode=0o600):
        with open(self.file, "w") as f:
            f.write(text)
        os.chmod(self.file, mode)

    def test_good(self):
        """R10: a file with a secret file that ends in a blank and a newline works."""
        self.write(self.good)
        self.assertAnswer(self.cgi(EVENT), 200, "processed")
        self.assertAnswer(self.cgi(EVENT, path="/stripe/billing/"), 200, "duplicate")  # R208
        for path in ("/stripe", "/stripe/billing/x", "//stripe//billing", "/stripe%2Fbilling",
                     "/stripe/../stripe/billing", "/STRIPE/BILLING", "", "/"):  # R192
            self.assertAnswer(self.cgi(EVENT, path=path), 404, "no_such_endpoint")

    def test_paths(self):
        """R191: SCRIPT_NAME and PATH_INFO are cut in different places by different servers."""
        self.write(self.good)
        for script, info in (("", "/stripe/billing"), ("/stripe/billing", ""), ("/stripe", "/billing"),
                             ("/cgi-bin/hookonce.cgi", "/stripe/billing"), ("/stripe/billing", "/")):
            a = self.cgi(EVENT, SCRIPT_NAME=script, PATH_INFO=info)
            self.assertEqual(a.status, 200, (script, info, a))

    def test_mistakes(self):
        """One message with file, line and remedy; every request gets 500, and nothing is stored."""
        g = self.good
        other = g[g.index("[endpoint"):].replace("[endpoint billing]", "[endpoint two]")
        mistakes = (
            (g + "secrets = x\n", 6, 'unknown key "secrets"', "only these are known here: path, provider, secret"),
            ("databse = x\n" + g, 1, 'unknown key "databse"', "only these are known here: database"),
            (g.replace("secret = file:%s\n" % self.secret, ""), 2, "has no secret", "add secret ="),
            (g.replace("path = /stripe/billing\n", ""), 2, "has no path", "add path ="),
            (g.replace("provider = stripe", "provider = strype"), 4, "provider", "use stripe"),
            (g + "tolerance = 5m\n", 6, "tolerance", "whole seconds"),
            (g + "max_body = -1\n", 6, "max_body", "bytes from"),
            (g + "livemode = maybe\n", 6, "livemode", "must be"),
            (g + "account = 7\n", 6, "account", "must be"),
            (g + "mode = later\n", 6, "mode", "use sync, async or auto"),
            (g + "deadline = 5s\n", 6, "deadline", "100ms to 4s"),
            ("drain = x\n" + g, 1, "drain", "must be off"),
            (g + other, 6, 'has the path of endpoint "billing"', "give each its own"),
            (g + other.replace("/stripe/billing", "/stripe/billing/"), 6, "has the path", "give each"),
            (g + "path = /b\n", 6, 'a second "path"', "take one away"),
            (g + "[endpoint billing]\npath = /x\n", 6, "a second section", "its own name"),
            (g + "[sinc mail]\nurl = x\n", 6, "unknown section", "[endpoint NAME]"),
            (g + "nonsense\n", 6, "no section, no key = value", ""),
            (g + "secret =\n", 6, "is empty", ""),
            (g + "secret = v1,whsec_x\n", 6, "prefix", "take that away"),  # R19
            (g + "secret = \"whsec_x\"\n", 6, "stands in quotes", "take them away"),
            (g + "secret = env:NO_SUCH_NAME\n", 6, "no variable NO_SUCH_NAME", "set it"),
            (g + "secret = env:HTTP_X\n", 6, "no variable HTTP_X", ""),
            (g + "secret = file:/nonexistent\n", 6, "cannot be read", "whole path"),
            (g + "secret = %s\n" % ("x" * 300), 6, "longer than", "file:PATH"),
            (g.replace("database", "#"), None, "no database", "add database ="),
            ("database = x\n", None, "no endpoint", "add a section"),
        )
        for text, line, wrong, remedy in mistakes:
            self.write(text)
            a = hook.cgi(self.env, {**hook.signed(EVENT), "HTTP_X": "evil"}, EVENT)
            self.assertAnswer(a, 500, "not_configured")
            where = self.file + (":%d: " % line if line else ": ")
            said = a.log.splitlines()[0]
            self.assertIn(where, said, text)
            self.assertIn(wrong.replace('"', "'"), said, text)
            self.assertIn(remedy, said, text)
            self.assertNotIn(self.file.encode(), a.raw)
        self.assertEqual(self.db.count("webhook_inbox"), 0)

    def test_readable_by_others(self):
        """A file with a literal secret that others may read is refused, and so is a secret file."""
        self.write(self.good, 0o644)
        self.assertAnswer(self.cgi(EVENT), 200)
        literal = self.good + "secret = whsec_literal\n"
        self.write(literal, 0o644)
        a = self.cgi(EVENT)
        self.assertAnswer(a, 500, "not_configured")
        self.assertIn("chmod 600", a.log)
        self.write(literal, 0o640)
        self.assertAnswer(self.cgi(EVENT), 200)
        os.chmod(self.secret, 0o604)
        a = self.cgi(EVENT)
        self.assertAnswer(a, 500, "not_configured")
        self.assertIn("%s' can be read by others: chmod 600" % self.secret, a.log)

    def test_environment_alone(self):
        """R12: DATABASE_URL and the secret make one endpoint; without one of them nothing is taken."""
        whole = hook.environment(self.db)
        self.assertAnswer(hook.cgi(whole, hook.signed(EVENT, path="/any"), EVENT), 200)
        for name in ("DATABASE_URL", "STRIPE_WEBHOOK_SECRET"):
            for value in ("", None, " "):
                env = {k: v for k, v in {**whole, name: value}.items() if v is not None}
                a = hook.cgi(env, hook.variables(EVENT, HTTP_STRIPE_SIGNATURE=hook.sign(EVENT, value or "")),
                             EVENT)
                if name == "DATABASE_URL" and value == " ":
                    continue
                self.assertAnswer(a, 500, "not_configured")

    def test_two_endpoints(self):
        """R14, R15: each endpoint has its own secrets; the log says which one by position."""
        self.write(self.good.replace("secret = ", "secret = whsec_new\nsecret = ") +
                   "[endpoint connect]\npath = /stripe/connect\nprovider = stripe\n"
                   "secret = whsec_connect\naccount = any\n")
        connect = hook.event("evt_c", "invoice.paid", {"id": "in_c", "amount_paid": 5, "currency": "usd"},
                             account="acct_1")
        self.assertAnswer(self.cgi(connect, "whsec_connect"), 400, "signature_mismatch")
        self.assertAnswer(self.cgi(connect, "whsec_connect", path="/stripe/connect"), 200, "processed")
        self.assertEqual(self.db.sql("SELECT endpoint, account FROM webhook_inbox"),
                         [("connect", "acct_1")])
        self.assertIn("secret=1", self.cgi(hook.paid("evt_n"), "whsec_new").log)
        self.assertIn("secret=2", self.cgi(hook.paid("evt_o")).log)

    def test_one_url_two_secrets(self):
        """R115: the same event under either secret is one receipt and one ledger row."""
        self.write(self.good + "secret = whsec_second_secret\n")
        self.assertAnswer(self.cgi(EVENT), 200, "processed")
        self.assertAnswer(self.cgi(EVENT, "whsec_second_secret"), 200, "duplicate")
        self.assertEqual((self.db.count("webhook_inbox"), self.db.count("ledger_entries")), (1, 1))

    def test_livemode_and_account(self):
        """R76, R78: an event of another kind is recorded, never applied."""
        foreign = hook.event("evt_f", "invoice.paid", {"id": "in_f", "amount_paid": 5}, account="acct_2")
        test = hook.event("evt_t", "invoice.paid", {"id": "in_t", "amount_paid": 5}, livemode=False)
        mine = hook.event("evt_m", "invoice.paid", {"id": "in_m", "amount_paid": 5}, account="acct_1")
        for settings, outcomes in (("livemode = true\n", "ignored ignored ignored"),
                                   ("livemode = false\n", "ignored processed ignored"),
                                   ("account = any\n", "processed processed processed"),
                                   ("account = acct_1\n", "ignored ignored processed")):
            self.write(self.good + settings)
            got = [self.cgi(b).word for b in (foreign, test, mine)]
            self.assertEqual(" ".join(got), outcomes, settings)
            self.assertEqual(self.db.count("ledger_entries"), outcomes.count("processed"))
            self.db.sql("TRUNCATE webhook_inbox, ledger_entries, invoices, outbox")

    def test_healthz(self):
        """GET and HEAD on /healthz, where it is switched on: 200, or 503 without a database."""
        self.write(self.good)
        self.assertAnswer(hook.cgi(self.env, hook.variables(method="GET", path="/healthz")), 405)
        self.write("healthz = on\n" + self.good)
        a = hook.cgi(self.env, hook.variables(method="GET", path="/healthz"))
        self.assertAnswer(a, 200, "healthy")
        a = hook.cgi(self.env, hook.variables(method="HEAD", path="/healthz"))
        self.assertEqual((a.status, a.body), (200, b""))
        self.assertAnswer(hook.cgi(self.env, hook.variables(method="GET", path="/other")), 405)
        self.write("healthz = on\n" + self.good.replace(self.db.url, "host=/nonexistent"))
        a = hook.cgi(self.env, hook.variables(method="GET", path="/healthz"))
        self.assertAnswer(a, 503)


if __name__ == "__main__":
    hook.main()
