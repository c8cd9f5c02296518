"""The operator's hands: list, show, retry, review, purge, status --check."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest

import hook
from it_worker import add_receipts


def read_terminal(fd):
    """All that a program writes to its terminal."""
    out = b""
    try:
        while True:
            got = os.read(fd, 65536)
            if not got:
                return out
            out += got
    except OSError:  # how Linux tells that the other side is closed
        return out


class HandsCase(hook.Case):
    def run_(self, *args, stdin=None, url=None):
        p = subprocess.run([hook.OPERATOR, args[0], "--database", url or self.db.url, *args[1:]],
                           env=hook.environment(), input=stdin, capture_output=True, text=True, timeout=120,
                           **({} if stdin is not None else {"stdin": subprocess.DEVNULL}))
        return p.returncode, p.stdout, p.stderr

    def ok(self, *args, **more):
        code, out, err = self.run_(*args, **more)
        self.assertEqual((code, err), (0, ""), (args, out))
        return out


class Hands(HandsCase):
    def fill(self):
        """One receipt in each state, and one that tries to drive the terminal."""
        self.db.sql("INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload, available_at, attempts,"
                    " last_error, processed_at, outcome, received_at) VALUES"
                    " ('stripe','a','evt_waiting','invoice.paid','{\"k\": 1}',now(),0,NULL,NULL,NULL,now()),"
                    " ('stripe','a','evt_working','invoice.paid','{}',now() + '1 min',1,NULL,NULL,NULL,now()),"
                    " ('stripe','a','evt_failing','invoice.created','{}',now() + '1 min',2,'P0001 no',NULL,NULL,now()),"
                    " ('stripe','b','evt_resting','invoice.paid','{}','infinity',10,'23514 x',NULL,NULL,now() - interval '3 m'),"
                    " ('stripe','b','evt_done','invoice.paid','{}',now(),1,NULL,now(),'processed',now()),"
                    " ('stripe','b','evt_ignored','charge_x.y','{}',now(),0,NULL,now(),'ignored',now()),"
                    " ('stripe','b',E'evt_\\u202e\\u009b31m','invoice.paid',jsonb_build_object('x', E'\\u001b[2J\\u0007'),now(),0,"
                    "  E'bad\\u001b]0;x\\u0007',now(),'processed',now());"
                    "INSERT INTO webhook_reviews (provider, endpoint, event_id, reason, detail) VALUES"
                    " ('stripe','b','evt_resting','attempts_exhausted','{\"error\": \"23514 x\"}'),"
                    " ('stripe','a','evt_done','payment_for_void_invoice','{\"invoice_id\": \"in_1\"}')")

    def test_list(self):
        """Filters, pages, a table that fits, JSON with everything."""
        self.fill()
        out = self.ok("list")
        self.assertEqual(len(out.splitlines()), 8)
        self.assertTrue(all(len(l) <= 100 for l in out.splitlines()), out)
        self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
        self.assertRegex(out, r"evt_resting +invoice.paid +b +resting +1 +10 +3m \ds +23514 x\n")
        for args, ids in ((("--state", "waiting"), ["evt_waiting"]), (("--state", "failing"), ["evt_failing"]),
                          (("--state", "working"), ["evt_working"]), (("--state", "resting"), ["evt_resting"]),
                          (("--state", "ignored"), ["evt_ignored"]), (("--endpoint", "a", "--type", "invoice.created"), ["evt_failing"]),
                          (("--type", "charge_*"), ["evt_ignored"]), (("--type", "chargeX*"), []),
                          (("--since", "1m", "--state", "resting"), [])):
            got = [r["event_id"] for r in json.loads(self.ok("list", "--json", *args))]
            self.assertEqual(got, ids, args)
        pages = [json.loads(self.ok("list", "--json", "--limit", "3", "--page", str(n))) for n in (1, 2, 3, 4)]
        self.assertEqual([len(p) for p in pages], [3, 3, 1, 0])
        self.assertEqual(len({r["event_id"] for p in pages for r in p}), 7)
        row = json.loads(self.ok("list", "--json", "--state", "failing"))[0]
        self.assertEqual((row["attempts"], row["last_error"], row["endpoint"]), (2, "P0001 no", "a"))
        self.assertEqual(self.ok("list", "--endpoint", "none"), "no receipts\n")

    def test_narrow_terminal(self):
        """On a terminal of 60 columns no line is longer."""
        self.fill()
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.clear()
            time.sleep(0.2)
            os.execv(hook.OPERATOR, ["hookonce", "list", "--database", self.db.url])
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        out = read_terminal(fd)
        os.waitpid(pid, 0)
        lines = out.decode().replace("\r", "").splitlines()
        self.assertEqual(len(lines), 8, out)
        self.assertTrue(all(len(l) <= 60 for l in lines), lines)

    def test_show(self):
        """The whole of a receipt, its payload pretty and its reviews, and nothing that drives."""
        self.fill()
        out = self.ok("show", "evt_resting")
        for part in ("endpoint     b\n", "state        resting\n", "attempts     10\n", "last error   23514 x\n"):
            self.assertIn(part, out)
        self.assertRegex(out, r"review \d+ +attempts_exhausted, \d+s ago, open")
        self.assertIn('payload      \n{\n    "k": 1\n}\n', self.ok("show", "evt_waiting"))
        nasty = self.db.one("SELECT event_id FROM webhook_inbox WHERE last_error LIKE 'bad%'")
        out = self.ok("show", nasty)
        self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
        got = json.loads(self.ok("show", "--json", "evt_waiting"))
        self.assertEqual(json.loads(got[0]["payload"]), {"k": 1})
        code, out, err = self.run_("show", "evt_none")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("there is no receipt of event evt_none", err)

    def test_odd_receipts(self):
        """R51: no command fails on what jsonb could not hold as it came."""
        for i, text in enumerate((b"a\\u0000b", b"\\ud83d", b"\\udc00 x")):
            body = hook.paid("evt_%d" % i, invoice="in_%d" % i, note="NOTE").replace(b"NOTE", text)
            self.assertAnswer(self.cgi(body), 200, "processed")
            self.assertIn("raw bytes    %d\n" % len(body), self.ok("show", "evt_%d" % i))
        self.assertEqual(len(json.loads(self.ok("list", "--json"))), 3)
        self.ok("status")
        self.db.sql("UPDATE webhook_inbox SET processed_at = NULL, outcome = NULL, available_at = now()")
        self.assertEqual(self.run_("worker", "--drain")[0], 0)
        self.assertEqual(self.db.count("webhook_inbox", "outcome = 'processed'"), 3)
        self.assertEqual(self.db.count("ledger_entries"), 3)

    def test_retry(self):
        """It says how many and asks; given back they have all their attempts, and history stays."""
        self.fill()
        code, out, err = self.run_("retry")
        self.assertEqual(code, 1)
        self.assertIn("2 receipts will be given back", out)
        self.assertIn("nothing was changed", err)
        self.assertEqual(self.db.count("webhook_inbox", "attempts >= 2"), 2)
        self.assertEqual(self.ok("retry", "--yes", "--state", "resting"), "1 given back\n")
        self.assertEqual(self.db.sql("SELECT attempts, available_at <= now(), last_error FROM webhook_inbox"
                                     " WHERE event_id = 'evt_resting'"), [("0", "t", "23514 x")])
        self.assertEqual(self.db.sql("SELECT note FROM webhook_reviews WHERE resolved_at IS NOT NULL"),
                         [("given back by retry",)])
        self.assertEqual(self.ok("retry", "--yes", "evt_failing"), "1 given back\n")
        self.assertEqual(self.run_("retry", "--yes", "evt_done")[0], 1)
        self.assertEqual(self.ok("retry", "--yes", "--endpoint", "none"), "nothing to give back\n")
        self.assertEqual(self.ok("retry", "--ignored", "--type", "charge_x.y", "--yes"), "1 given back\n")
        self.assertEqual(self.db.one("SELECT processed_at IS NULL AND outcome IS NULL FROM webhook_inbox"
                                     " WHERE event_id = 'evt_ignored'"), "t")

    def test_unwanted_stays_ignored(self):
        """What was ignored because it is another account's or a test is never given back."""
        foreign = hook.event("evt_f", "invoice.paid", {"id": "in_f", "amount_paid": 5}, account="acct_2")
        self.assertAnswer(self.cgi(foreign), 200, "ignored")
        self.assertAnswer(self.cgi(hook.event("evt_u", "a.b", {})), 200, "ignored")
        self.assertIn("last error   not for this endpoint: account\n", self.ok("show", "evt_f"))
        self.assertEqual(self.ok("retry", "--ignored", "--yes"), "1 given back\n")
        self.assertEqual(self.run_("worker", "--drain")[0], 0)
        self.assertEqual(self.db.count("ledger_entries"), 0)

    def test_review(self):
        """Open reviews are listed, resolved with a note, once."""
        self.fill()
        out = self.ok("review")
        self.assertRegex(out, r"^ *id  reason +event +endpoint +age +detail\n")
        self.assertEqual(len(out.splitlines()), 3)
        rows = json.loads(self.ok("review", "--json"))
        self.assertEqual([r["reason"] for r in rows], ["attempts_exhausted", "payment_for_void_invoice"])
        number = str(rows[1]["id"])
        self.assertEqual(self.run_("review", "resolve", number)[0], 2)
        self.assertEqual(self.ok("review", "resolve", number, "--note", "refunded"), "review %s is resolved\n" % number)
        code, _, err = self.run_("review", "resolve", number, "--note", "again")
        self.assertEqual((code, err), (1, "hookonce: there is no open review %s\n" % number))
        self.assertEqual(len(json.loads(self.ok("review", "--json"))), 1)
        self.assertIn("resolved: refunded", self.ok("show", "evt_done"))

    def test_check(self):
        """Exit codes and performance data of a monitoring plugin; unknown without a database."""
        check = ("status", "--check")
        code, out, _ = self.run_(*check)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^HOOKONCE OK - 0 waiting, due for 0s, .* \| waiting=0 due=0s;300;1800 .* reviews=0;1;10 outbox=0\n$")
        add_receipts(self.db, 1)
        self.db.sql("UPDATE webhook_inbox SET available_at = now() - interval '6 min'")
        self.assertEqual(self.run_(*check)[0], 1)
        self.assertEqual(self.run_(*check, "--warn-age", "10m")[0], 0)
        self.db.sql("UPDATE webhook_inbox SET available_at = now() - interval '31 min'")
        code, out, _ = self.run_(*check)
        self.assertEqual((code, out[:17]), (2, "HOOKONCE CRITICAL"))
        self.db.sql("UPDATE webhook_inbox SET available_at = 'infinity';"
                    "INSERT INTO webhook_reviews (provider, endpoint, event_id, reason) VALUES ('p','e','1','parked')")
        self.assertEqual(self.run_(*check)[0], 1)
        self.assertEqual(self.run_(*check, "--warn-reviews", "2")[0], 0)
        code, out, _ = self.run_(*check, "--nonsense")
        self.assertEqual((code, out[:19]), (3, "HOOKONCE UNKNOWN - "))
        code, out, _ = self.run_(*check, url="host=/nonexistent dbname=x")
        self.assertEqual((code, out[:19]), (3, "HOOKONCE UNKNOWN - "))

    def test_errors(self):
        """Bad options, no database, no tables, no rights: a sentence and the right exit code."""
        role = "none%d" % os.getpid()
        self.db.sql("CREATE ROLE %s LOGIN" % role)
        self.addCleanup(lambda: self.db.sql("DROP ROLE " + role))
        rightless = self.db.url.replace("user=postgres", "user=" + role)
        empty = hook.Database(migrate=False)
        self.addCleanup(empty.close)
        for args in (("status",), ("list",), ("show", "x"), ("retry", "--yes"), ("review",), ("purge",),
                     ("worker", "--drain"), ("review", "resolve", "1", "--note", "x")):
            for url, words in (("host=/nonexistent dbname=x", "cannot be reached"), (rightless, "right is missing"),
                               (empty.url, "hookonce migrate")):
                code, out, err = self.run_(*args, url=url)
                self.assertEqual(code, 4, (args, url, out, err))
                self.assertIn(words, err, (args, url))
        for args in (("list", "--state", "x"), ("list", "--since", "x"), ("list", "--limit", "0"), ("show",),
                     ("retry", "a", "b"), ("review", "x"), ("purge", "--keys", "5d"), ("purge", "--payload", "500d"),
                     ("worker", "--jobs", "0"), ("worker", "--timeout", "0s"), ("worker", "--lease", "10s"), ("status", "--warn-age", "5")):
            code, out, err = self.run_(*args)
            self.assertEqual((code, out), (2, ""), args)
            self.assertRegex(err, r"^hookonce: .+\n$")


class Purge(HandsCase):
    def old(self, n, days):
        self.db.sql("INSERT INTO webhook_inbox (provider, endpoint, event_id, event_type, payload, raw_body, processed_at, outcome, received_at)"
                    " SELECT 'stripe', 'billing', 'old%d_' || n, 'invoice.paid', jsonb_build_object('x', repeat('y', 800), 'n', n), 'x',"
                    " now() - interval '%d days', 'processed', now() - interval '%d days' FROM generate_series(1, %d) AS n"
                    % (days, days, days, n))

    def test_two_stages(self):
        """Payloads go after 30 days, keys after 400; what is not processed stays whatever its age."""
        for days in (1, 29, 31, 399, 401):
            self.old(50, days)
        add_receipts(self.db, 10)
        self.db.sql("UPDATE webhook_inbox SET received_at = now() - interval '500 days' WHERE processed_at IS NULL")
        self.assertEqual(self.ok("purge").splitlines()[-1], "100 payloads blanked, 50 receipts deleted")
        self.assertEqual(self.db.count("webhook_inbox", "processed_at IS NOT NULL AND payload = '{}' AND raw_body IS NULL"), 100)
        self.assertEqual(self.db.count("webhook_inbox", "processed_at IS NULL AND payload <> '{}'"), 10)
        self.assertEqual(self.db.count("webhook_inbox"), 210)
        self.assertEqual(self.ok("purge").splitlines()[-1], "0 payloads blanked, 0 receipts deleted")

    def test_late_repeat(self):
        """R168: after the payload went, a repeat is a duplicate; with the key gone, the ledger's
        key still guards the money."""
        body = hook.paid("evt_late")
        self.assertEqual(self.cgi(body).word, "processed")
        self.db.sql("UPDATE webhook_inbox SET processed_at = now() - interval '40 days'")
        self.ok("purge")
        a = self.cgi(body)
        self.assertAnswer(a, 200, "duplicate")
        self.assertNotIn("body=differs", a.log)
        self.assertEqual(self.ok("purge", "--keys", "30d").splitlines()[-1], "0 payloads blanked, 1 receipts deleted")
        self.assertAnswer(self.cgi(body), 200, "processed")
        self.assertEqual([self.db.count(t) for t in ("ledger_entries", "outbox")], [1, 1])

    def test_stopped_half_way(self):
        """Stopped or killed half-way it has lost nothing, and the next run goes on."""
        self.old(4000, 40)
        for sig in (signal.SIGTERM, signal.SIGKILL):
            p = subprocess.Popen([hook.OPERATOR, "purge", "--database", self.db.url, "--blocks", "1"], env=hook.environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            before = self.db.count("webhook_inbox", "payload = '{}'")
            hook.wait_for(lambda: self.db.count("webhook_inbox", "payload = '{}'") > before)
            p.send_signal(sig)
            out, err = p.communicate(timeout=20)
            if sig == signal.SIGTERM:
                self.assertEqual(p.returncode, 1)
                self.assertIn("run it again to go on", err)
        self.assertEqual(self.db.count("webhook_inbox"), 4000)
        self.assertLess(self.db.count("webhook_inbox", "payload = '{}'"), 4000)
        self.ok("purge")
        self.assertEqual(self.db.count("webhook_inbox", "payload = '{}' AND raw_body IS NULL"), 4000)

    def test_beside_traffic(self):
        """R164, R166: deliveries and workers beside a purge: no error, no deadlock, none slow."""
        self.old(20000, 40)
        r = self.responder(processes=2)
        log = os.path.join(hook.SERVER, "server.log")
        before = os.path.getsize(log)
        slow, stop, count = [0.0], threading.Event(), [0]

        def deliver(k):
            while not stop.is_set():
                body = hook.paid("evt_%d_%d" % (k, count[0]), invoice="in_%d_%d" % (k, count[0]))
                count[0] += 1
                began = time.monotonic()
                self.assertEqual(r.request(hook.signed(body), body).status, 200)
                slow[0] = max(slow[0], time.monotonic() - began)

        threads = [threading.Thread(target=deliver, args=(k,)) for k in range(2)]
        for t in threads:
            t.start()
        out = self.ok("purge", "--payload", "30d")
        stop.set()
        for t in threads:
            t.join()
        self.assertEqual(out.splitlines()[-1], "20000 payloads blanked, 0 receipts deleted")
        self.assertGreater(count[0], 50)
        with open(log) as f:
            f.seek(before)
            self.assertFalse([line for line in f if "deadlock" in line])
        print("the slowest of %d deliveries beside the purge took %.0f ms" % (count[0], slow[0] * 1000))

    def test_progress(self):
        """On a terminal a bar that ends at 100 %, never goes back, and is gone over in place."""
        self.old(8000, 40)
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.clear()
            os.execv(hook.OPERATOR, ["hookonce", "purge", "--database", self.db.url, "--blocks", "8"])
        out = read_terminal(fd)
        self.assertEqual(os.waitpid(pid, 0)[1], 0, out)
        percents = [int(p) for p in re.findall(r"\] +(\d+) %", out.decode())]
        self.assertEqual(percents, sorted(percents))
        self.assertEqual(percents[-1], 100)
        self.assertIn("8000 payloads blanked, 0 receipts deleted", out.decode())


if __name__ == "__main__":
    hook.main()
