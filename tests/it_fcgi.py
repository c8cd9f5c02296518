"""FastCGI on a bare socket: signals, silent and broken peers, many requests in one process."""
import os
import random
import resource
import signal
import socket
import subprocess
import threading
import time
import unittest

import hook

EVENT = hook.paid("evt_1")
BODY_SECONDS = 10  # HTTP_BODY_SECONDS


def slow_invoices(db, seconds):
    db.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
           " PERFORM pg_sleep(%s); RETURN NEW; END $$;"
           "CREATE TRIGGER slow BEFORE INSERT ON invoices FOR EACH ROW EXECUTE FUNCTION slow()" % seconds)


class Requests(hook.Case):
    def test_many_answers(self):
        """Each kind of answer from one process, one after the other."""
        r = self.responder()
        for body, v, status, word in (
                (EVENT, hook.signed(EVENT), 200, "processed"), (EVENT, hook.signed(EVENT), 200, "duplicate"),
                (EVENT, hook.signed(EVENT, method="GET"), 405, "method_not_allowed"),
                (EVENT, hook.signed(EVENT, CONTENT_LENGTH="9x"), 400, "length_malformed"),
                (EVENT, hook.signed(EVENT, CONTENT_LENGTH=str(len(EVENT) + 1)), 400, "body_short"),
                (EVENT, hook.signed(EVENT, CONTENT_LENGTH=str(len(EVENT) - 1)), 400, "body_long"),
                (EVENT, hook.signed(EVENT, CONTENT_LENGTH="2000000"), 413, "body_too_large"),
                (EVENT, hook.signed(EVENT, "whsec_other"), 400, "signature_mismatch"),
                (EVENT, hook.signed(EVENT, headers={"Content-Encoding": "gzip"}), 415, "content_encoding"),
                (b"[]", hook.signed(b"[]"), 400, "not_an_object"),
                (EVENT, hook.signed(EVENT, length=False), 200, "duplicate"),
                (b"x" * 1100000, hook.signed(b"x" * 1100000, length=False), 413, "body_too_large")):
            a = r.request(v, body)
            self.assertAnswer(a, status, word)
            self.assertEqual(a.log.count("\n"), 1, a)
        self.assertEqual(self.db.count("webhook_inbox"), 1)
        self.assertEqual(r.stop(), [0])

    def test_nothing_left_of_the_request_before(self):
        """R175: a request without signature and body after a good one gets nothing of its."""
        r = self.responder()
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "processed")
        a = r.request({"REQUEST_METHOD": "POST", "PATH_INFO": hook.PATH})
        self.assertAnswer(a, 400, "signature_missing")

    def test_large_bodies(self):
        """A body of max_body comes through whole, in records of any size."""
        body = hook.paid("evt_big", note="x" * 1000000)
        r = self.responder()
        self.assertAnswer(r.request(hook.signed(body), body), 200, "processed")
        with r.connect() as s:
            small = hook.paid("evt_small")
            s.sendall(hook.fcgi_begin() + hook.fcgi_params(hook.signed(small)))
            for i in range(0, len(small), 7):
                s.sendall(hook.fcgi_record(5, small[i:i + 7]))
            s.sendall(hook.fcgi_record(5, b""))
            self.assertAnswer(hook.fcgi_answer(s), 200, "processed")

    def test_configuration_comes_with_the_request(self):
        """Apache's SetEnv travels with each request; a bad one is answered, not died of."""
        r = hook.Responder(hook.environment())
        self.addCleanup(r.stop)
        a = r.request(hook.signed(EVENT), EVENT)
        self.assertAnswer(a, 500, "not_configured")
        own = {"DATABASE_URL": self.db.url, "STRIPE_WEBHOOK_SECRET": hook.SECRET}
        self.assertAnswer(r.request(hook.signed(EVENT, **own), EVENT), 200, "processed")
        other = hook.Database()
        self.addCleanup(other.close)
        path = os.path.join(r.dir, "conf")
        with open(path, "w") as f:
            os.chmod(path, 0o600)
            f.write("database = %s\n[endpoint e]\npath = %s\nprovider = stripe\nsecret = whsec_e\n"
                    % (other.url, hook.PATH))
        a = r.request(hook.signed(EVENT, "whsec_e", HOOKONCE_CONF=path), EVENT)
        self.assertAnswer(a, 200, "processed")
        self.assertEqual(other.count("webhook_inbox"), 1)
        self.assertEqual(r.stop(), [0])

    def test_only_the_socket_is_open(self):
        """FastCGI leaves fd 1 and 2 closed: no log line goes where it does not belong."""
        r = hook.Responder(self.env, wrap=("sh", "-c", 'exec "$0" 1>&- 2>&-'))
        self.addCleanup(r.stop)
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "processed")
        for fd in "12":
            self.assertEqual(os.readlink("/proc/%d/fd/%s" % (r.pid, fd)), "/dev/null")

    def test_bad_configuration_is_told_once(self):
        """A mistake is told once, not at every request, and mending it is enough."""
        r = hook.Responder(hook.environment())
        self.addCleanup(r.stop)
        logs = "".join(r.request(hook.signed(EVENT), EVENT).log for _ in range(5))
        self.assertEqual(logs.count("hookonce: the environment: no configuration"), 1, logs)


class Signals(hook.Case):
    def test_stop_while_idle(self):
        """R177: TERM, USR1, INT and HUP end an idle process within a second, with 0."""
        for sig in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP):
            r = self.responder()
            self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200)
            began = time.monotonic()
            self.assertEqual(r.stop(sig), [0])
            self.assertLess(time.monotonic() - began, 1)

    def test_stop_before_the_first_request(self):
        """A stop right after the start is not missed, whenever it comes."""
        for delay in (0.03, 0.04, 0.05, 0.1, 0.3):
            r = self.responder()
            time.sleep(delay)
            self.assertIn(r.stop()[0], (0, -signal.SIGTERM))  # before main, TERM is not ours yet
            if delay >= 0.3:
                self.assertEqual(r.stop(), [0])

    def test_stop_in_hand(self):
        """R179: a request in hand is finished, committed and answered, then the process ends."""
        slow_invoices(self.db, 1.5)
        for i, sig in enumerate((signal.SIGTERM, signal.SIGUSR1)):
            r = self.responder()
            body = hook.paid("evt_hand%d" % i, invoice="in_%d" % i)
            with r.connect() as s:
                s.sendall(hook.fcgi_begin() + hook.fcgi_params(hook.signed(body)) + hook.fcgi_stdin(body))
                hook.wait_for(lambda: self.db.one("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1")
                os.kill(r.pid, sig)
                os.kill(r.pid, sig)
                self.assertAnswer(hook.fcgi_answer(s), 200, "processed")
            self.assertEqual(r.processes[0].wait(5), 0)

    def test_stop_in_the_body(self):
        """A signal in the middle of a body cuts nothing: the rest is read, the answer given."""
        r = self.responder()
        with r.connect() as s:
            s.sendall(hook.fcgi_begin() + hook.fcgi_params(hook.signed(EVENT)) +
                      hook.fcgi_record(5, EVENT[:40]))
            time.sleep(0.3)
            os.kill(r.pid, signal.SIGTERM)
            time.sleep(0.3)
            s.sendall(hook.fcgi_record(5, EVENT[40:]) + hook.fcgi_record(5, b""))
            self.assertAnswer(hook.fcgi_answer(s), 200, "processed")
        self.assertEqual(r.processes[0].wait(5), 0)

    def test_stop_between_test_and_wait(self):
        """A stop at any moment of a busy loop ends the process within a second; every answer
        that was begun is whole."""
        for round_ in range(25):
            r = self.responder()
            stop = threading.Event()
            answers = []

            def client():
                while not stop.is_set():
                    try:
                        answers.append(r.request(hook.signed(EVENT), EVENT, timeout=2))
                    except OSError:
                        return

            t = threading.Thread(target=client)
            t.start()
            hook.wait_for(lambda: answers)
            time.sleep(random.random() * 0.02)
            began = time.monotonic()
            os.kill(r.pid, signal.SIGTERM)
            self.assertEqual(r.processes[0].wait(3), 0)
            self.assertLess(time.monotonic() - began, 1)
            stop.set()
            r.listener.close()
            os.unlink(r.path)
            t.join()
            self.assertTrue(all(a.status in (200, None) for a in answers), answers)

    def test_child_signal(self):
        """R199: SIGCHLD and a broken pipe end nothing."""
        r = self.responder()
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "processed")
        os.kill(r.pid, signal.SIGCHLD)
        os.kill(r.pid, signal.SIGPIPE)
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "duplicate")


class Peers(hook.Case):
    def assertServes(self, r):
        body = hook.paid("evt_after%d" % time.monotonic_ns())
        self.assertAnswer(r.request(hook.signed(body), body, timeout=BODY_SECONDS + 10), 200)
        self.assertIsNone(r.processes[0].poll())

    def test_silent_peers(self):
        """R182: a peer that is silent at the start, in the parameters or in the body holds the
        process for its time limit and no longer; nothing of it is processed; a second process
        does not notice."""
        partial = hook.fcgi_begin() + hook.fcgi_params(hook.signed(EVENT))
        for sent in (b"", b"\x01\x01\x00\x01", partial[:200], partial + hook.fcgi_record(5, EVENT[:40])):
            with self.subTest(sent=len(sent)):
                r = self.responder()
                with r.connect() as s:
                    began = time.monotonic()
                    s.sendall(sent)
                    time.sleep(0.2)
                    self.assertServes(r)
                    self.assertLess(time.monotonic() - began, BODY_SECONDS + 4)
                self.assertEqual(r.stop(), [0])
        r = self.responder(processes=2)
        with r.connect() as s:
            s.sendall(b"\x01\x01\x00\x01")
            time.sleep(0.2)
            began = time.monotonic()
            self.assertServes(r)
            self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(self.db.count("webhook_inbox", "event_id = 'evt_1'"), 0)

    def test_cut_requests(self):
        """A request that is cut anywhere is not processed, and the process serves the next one."""
        whole = hook.fcgi_begin() + hook.fcgi_params(hook.signed(EVENT)) + hook.fcgi_stdin(EVENT)
        end = len(whole) - 8  # without the record that ends the body
        r = self.responder()
        cuts = sorted({1, 7, 8, 15, 16, 20, 24, 25, 300, end - len(EVENT) - 9, end - len(EVENT),
                       end - 1, end} | {random.randrange(end) for _ in range(15)})
        for cut in cuts:
            with r.connect() as s:
                s.sendall(whole[:cut])
        self.assertServes(r)
        for cut in (len(hook.fcgi_begin()), len(hook.fcgi_begin()) + 60):  # R: ABORT in the parameters
            with r.connect() as s:
                s.sendall(whole[:cut] + hook.fcgi_record(2, b""))
        self.assertServes(r)
        self.assertEqual(self.db.count("webhook_inbox", "event_id = 'evt_1'"), 0)
        self.assertEqual(r.stop(), [0])

    def test_client_gone(self):
        """R105, R197: the peer is gone before the answer: committed, and the repeat is a duplicate."""
        slow_invoices(self.db, 0.3)
        r = self.responder()
        with r.connect() as s:
            s.sendall(hook.fcgi_begin() + hook.fcgi_params(hook.signed(EVENT)) + hook.fcgi_stdin(EVENT))
            time.sleep(0.1)
        hook.wait_for(lambda: self.db.count("webhook_inbox") == 1)
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "duplicate")
        self.assertEqual(self.db.count("ledger_entries"), 1)

    def test_hostile_records(self):
        """R173: lengths near 2^31, garbage, wrong versions: refused, the process lives or ends
        cleanly; and a start on the same socket serves again."""
        huge = hook.fcgi_begin() + hook.fcgi_record(4, b"\xff" * 8 + b"x" * 16)
        for raw in (huge, b"GET / HTTP/1.0\r\n\r\n", os.urandom(500), b"\x02" * 64,
                    hook.fcgi_begin() + hook.fcgi_record(4, b"\xff" * 100)):
            r = self.responder()
            with r.connect(5) as s:
                s.sendall(raw)
                try:
                    s.shutdown(socket.SHUT_WR)
                    s.recv(1)
                except OSError:
                    pass
            self.assertServes(r)

    def test_keep_alive_is_refused(self):
        """A peer that asks to keep the connection gets its answer and the connection's end."""
        r = self.responder()
        with r.connect(10) as s:
            s.sendall(hook.fcgi_begin(flags=1) + hook.fcgi_params(hook.signed(EVENT)) + hook.fcgi_stdin(EVENT))
            self.assertAnswer(hook.fcgi_answer(s), 200, "processed")
        self.assertServes(r)


class Endurance(hook.Case):
    def test_memory_and_descriptors(self):
        """R202: 10,000 requests on every path leave memory and descriptors as they were."""
        r = self.responder()
        bad = hook.signed(EVENT, "whsec_other")
        kinds = [(hook.signed(EVENT), EVENT)] * 4 + [
            (bad, EVENT), (hook.signed(EVENT, method="GET"), b""), (hook.signed(EVENT, CONTENT_LENGTH="x"), EVENT),
            (hook.signed(b"{"), b"{"), (hook.signed(EVENT, CONTENT_LENGTH="9"), EVENT), (hook.signed(EVENT), b"")]

        def run(n):
            for i in range(n):
                if i % 1000 == 0:
                    kinds[0] = (hook.signed(EVENT), EVENT)  # a fresh time stamp
                v, body = kinds[i % len(kinds)]
                self.assertIsNotNone(r.request(v, body).status)

        run(1000)
        before, files = r.rss_kib(), len(os.listdir("/proc/%d/fd" % r.pid))
        run(10000)
        grown = r.rss_kib() - before
        self.assertLess(grown, 20000 if hook.SANITIZED else 200, "grown by %d KiB" % grown)
        # the last connection may still be closing
        hook.wait_for(lambda: len(os.listdir("/proc/%d/fd" % r.pid)) <= files, 5, "descriptors")
        self.assertEqual(r.stop(), [0])

    def test_refusals_do_not_flood_the_log(self):
        """R186: repeated refusals are counted after a few a second, and told as a number."""
        r = self.responder()
        v = hook.signed(EVENT, "whsec_other")
        logs = [r.request(v, EVENT).log for _ in range(500)]
        time.sleep(1.1)
        last = r.request(v, EVENT).log
        said = sum(1 for l in logs if l)
        self.assertLess(said, 300)
        self.assertGreater(said, 10)
        self.assertIn("unsaid=", "".join(logs) + last)

    def test_many_descriptors(self):
        """R198: 1,100 descriptors open before the start: the socket is still served."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
        try:
            r = hook.Responder(self.env, wrap=(
                "sh", "-c", "exec python3 -c 'import os,sys\n[os.dup(2) for _ in range(1100)]\n"
                "for i in range(3,1200):\n  try: os.set_inheritable(i,True)\n  except OSError: pass\n"
                "os.execv(sys.argv[1],sys.argv[1:])' \"$0\""))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.addCleanup(r.stop)
        self.assertAnswer(r.request(hook.signed(EVENT), EVENT), 200, "processed")
        self.assertGreater(len(os.listdir("/proc/%d/fd" % r.pid)), 1100)

    @unittest.skipIf(hook.SANITIZED, "AddressSanitizer and valgrind exclude each other")
    def test_valgrind(self):
        """No leak and no bad read over requests on every path."""
        log = "/tmp/hookonce-valgrind-%d" % os.getpid()
        r = hook.Responder(self.env, wrap=("valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
                                           "--errors-for-leak-kinds=definite,indirect",
                                           "--log-file=" + log))
        self.addCleanup(r.stop)
        for body in (EVENT, EVENT, hook.paid("evt_2", amount_paid="x"), hook.paid("evt_3", note="\ud83d"),
                     b"{", b"[]", b"", hook.event("evt_4", "a.b", {})):
            a = r.request(hook.signed(body), body, timeout=60)
            self.assertIsNotNone(a.status)
        for v in (hook.signed(EVENT, "whsec_other"), hook.signed(EVENT, method="GET"),
                  hook.signed(EVENT, CONTENT_LENGTH="5"), hook.signed(EVENT, CONTENT_LENGTH="x")):
            r.request(v, EVENT, timeout=60)
        code = r.stop(timeout=60)
        with open(log) as f:
            said = f.read()
        os.unlink(log)
        self.assertEqual(code, [0], said)


if __name__ == "__main__":
    hook.main()
