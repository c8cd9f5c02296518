"""Promise 6: killed or cut off between any two messages, the next delivery makes it good."""
import os
import signal
import subprocess
import threading
import unittest

import hook
import proxy

EVENT = hook.paid("evt_1")


class Crashes(hook.Case):
    def assertOnce(self, word=None):
        """The event is delivered again: one receipt, one effect, one message."""
        a = self.cgi(EVENT)
        self.assertEqual(a.status, 200, a)
        if word is not None:
            self.assertEqual(a.word, word)
        for table in ("webhook_inbox", "invoices", "ledger_entries", "outbox"):
            self.assertEqual(self.db.count(table), 1, table)
        self.assertEqual(self.db.count("webhook_inbox", "processed_at IS NOT NULL"), 1)
        return a.word

    def forget(self):
        self.db.sql("TRUNCATE webhook_inbox, invoices, ledger_entries, outbox, webhook_reviews")

    def messages(self):
        """How many messages a whole delivery exchanges: client, server."""
        seen = [0, 0]

        def count(side):
            def see(kind, number):
                seen[side] = max(seen[side], number + 1)
                return True
            return see

        p = proxy.Proxy(self.db.url, count(0), count(1))
        a = hook.cgi({**self.env, "DATABASE_URL": p.url}, hook.signed(EVENT), EVENT)
        self.assertEqual(a.word, "processed", a)
        p.close()
        self.forget()
        return seen

    def killed(self, side, at):
        """kill -9 of the responder when message `at` of one side comes by; nothing of it is
        passed on. Returns whether the first delivery was committed."""
        reached = threading.Event()
        process = []

        def see(kind, number):
            if number < at:
                return True
            reached.wait(5) if not process else None
            os.kill(process[0].pid, signal.SIGKILL)
            return False

        p = proxy.Proxy(self.db.url, see if side == 0 else None, see if side == 1 else None)
        process.append(subprocess.Popen([hook.FCGI], env={**self.env, **hook.signed(EVENT), "DATABASE_URL": p.url},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
        reached.set()
        out, _ = process[0].communicate(EVENT, timeout=20)
        self.assertEqual(process[0].returncode, -signal.SIGKILL, (side, at))
        p.close()
        hook.wait_for(lambda: self.db.one("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                                          " AND pid <> pg_backend_pid() AND backend_type = 'client backend'") == "0")
        committed = self.db.count("webhook_inbox") == 1
        self.assertTrue(committed or out == b"", "an answer before COMMIT: %r" % out)
        return committed

    def test_killed_at_every_message(self):
        """kill -9 before each message of either side, one after the other."""
        client, server = self.messages()
        self.assertGreater(client, 10)
        committed = 0
        for side, count in ((0, client - 1), (1, server)):  # the client's last one is its good-bye
            for at in range(1, count):
                done = self.killed(side, at)
                committed += done
                self.assertEqual(self.assertOnce(), "duplicate" if done else "processed", (side, at))
                self.forget()
        self.assertGreater(committed, 0, "the answer to COMMIT was lost at least once")

    def test_cut_off_at_every_message(self):
        """The connection is cut at each message, the process lives: it runs the transaction
        again by itself, or answers 503; the repeat makes it good (R133)."""
        client, server = self.messages()
        for side, count in ((0, client), (1, server)):
            for at in range(0, count):
                cut = []

                def see(kind, number):
                    if number < at or cut:
                        return True
                    cut.append(1)
                    p.cut()
                    return False

                p = proxy.Proxy(self.db.url, see if side == 0 else None, see if side == 1 else None)
                a = hook.cgi({**self.env, "DATABASE_URL": p.url}, hook.signed(EVENT), EVENT)
                self.assertIn((a.status, a.word), ((200, "processed"), (200, "duplicate")), (side, at, a))
                p.close()
                self.assertOnce("duplicate")
                self.forget()

    def test_answer_to_commit_is_lost(self):
        """R133: every answer to COMMIT is lost: 503, never 2xx; the repeat is a duplicate."""
        completed = []

        def drop_commit(kind, number):
            # a flight's commands: BEGIN, the limits, the statement, COMMIT
            if kind == b"C":
                completed.append(number)
            return not (kind == b"C" and len(completed) % 4 == 0)

        p = proxy.Proxy(self.db.url, None, drop_commit)
        a = hook.cgi({**self.env, "DATABASE_URL": p.url}, hook.signed(EVENT), EVENT)
        self.assertAnswer(a, 503, "database_timeout")
        p.close()
        self.assertOnce("duplicate")

    def test_killed_while_a_table_is_written(self):
        """kill -9 while each table's row is being written: the server rolls back or commits
        the whole, and the next delivery gives exactly one effect."""
        self.db.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
                    " $$ BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END $$")
        for table in ("webhook_inbox", "invoices", "ledger_entries", "outbox"):
            self.db.sql("CREATE TRIGGER slow AFTER INSERT ON %s FOR EACH ROW EXECUTE FUNCTION slow()" % table)
            p = subprocess.Popen([hook.FCGI], env={**self.env, **hook.signed(EVENT)}, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            p.stdin.write(EVENT)
            p.stdin.close()
            hook.wait_for(lambda: self.db.one("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1")
            p.kill()
            self.assertEqual(p.stdout.read(), b"")
            p.stdout.close()
            p.wait()
            self.db.sql("DROP TRIGGER slow ON " + table)
            self.assertOnce()
            self.forget()


if __name__ == "__main__":
    hook.main()
