"""make run, in a copy of this folder: what it says, and that nothing of it is left."""
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import hook

EVENT, INVOICE = "evt_1FxTstRxrT56hQYFVto6yCMH", "in_1FxTstBKur83NY56MhvazZho"
VARIABLES = ("MAKE", "MFLAGS", "DATABASE_URL", "HOOKONCE", "STRIPE", "ONCE", "PG")


def processes(folder):
    """The processes whose command line names the folder, but for this program: pid to text."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                text = f.read().replace(b"\0", b" ").decode("latin-1")
        except OSError:
            continue
        if folder in text:
            found[int(path.split("/")[2])] = text
    return found


class Demo(unittest.TestCase):
    def setUp(self):
        """A copy, below a folder that root alone may enter; up to date, so nothing is built."""
        self.outer = tempfile.mkdtemp(prefix="hook")
        self.addCleanup(shutil.rmtree, self.outer)
        self.root = os.path.join(self.outer, "copy")
        self.demo = os.path.join(self.root, "var", "demo")
        self.build = os.path.basename(hook.BUILD)
        for name in ("Makefile", "src", "include", "db", "tests", self.build):
            subprocess.run(["mkdir", "-p", self.root], check=True)
            subprocess.run(["cp", "-a", os.path.join(hook.ROOT, name), self.root], check=True)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(VARIABLES)}
        self.addCleanup(self.kill)

    def kill(self):
        for pid in processes(self.demo):
            os.kill(pid, signal.SIGKILL)

    def start(self, *args, **env):
        """make run in a process group of its own, as a terminal has it."""
        return subprocess.Popen(["make", "run", "B=" + self.build, *args], cwd=self.root, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                start_new_session=True, env={**self.env, **env},
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def once(self, code=0, **env):
        run = self.start("ONCE=1", **env)
        out, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, code, out)
        return out

    def running(self):
        """A demo that waits for Ctrl-C, and what it said so far."""
        run = self.start()
        out = ""
        for line in run.stdout:
            out += line
            if line.startswith("The log, as it grows"):
                return run, out
        self.fail(out)

    def assertClean(self):
        self.assertEqual(processes(self.demo), {})
        self.assertFalse(os.path.exists(os.path.join(self.root, "var")))

    def assertShown(self, out, *outcomes):
        """What the three deliveries were answered, and that one payment was booked."""
        self.assertEqual(re.findall(r"^    (\d+ \w+):", out, re.M), list(outcomes), out)
        self.assertEqual(len(re.findall(r"^ %s \| payment \| +2000 \| usd +\| %s$" % (INVOICE, EVENT), out, re.M)),
                         1, out)
        self.assertIn("its invoice booked 1 x.\nThe forged event: receipts 0.\n", out)
        self.assertTrue(all(len(line) <= 100 for line in out.splitlines() if "hookonce: ts=" not in line), out)

    FRESH = ("200 processed", "200 duplicate", "400 signature_mismatch")

    def test_once(self):
        """ONCE=1: new, duplicate, refused, one payment; ends with 0; nothing is left. Also
        where everybody may enter, with a taken port, and with PG variables about."""
        os.chmod(self.outer, 0o755)
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", 8080))
                taken.listen()
            except OSError:
                pass  # taken by another
            out = self.once(PGPORT="1", PGHOST="/nonexistent", PGOPTIONS="-c no_such_setting=1")
        self.assertShown(out, *self.FRESH)
        self.assertNotIn(":8080/", out)
        self.assertEqual(out.count("hookonce: ts="), 3)
        self.assertClean()

    def test_until_interrupted(self):
        """Runs until Ctrl-C: takes more by the command it shows, PostgreSQL is durable,
        nothing runs as root, a second one is refused; then nothing is left."""
        run, out = self.running()
        self.assertShown(out, *self.FRESH)
        send = re.search(r"send more +(.*\\\n.*)", out)[1]
        sent = subprocess.run(send, shell=True, cwd=self.root, capture_output=True, text=True)
        self.assertEqual((sent.returncode, sent.stdout.count('200 {"outcome":')), (0, 16), sent)
        look = subprocess.run(re.search(r"look +(.*)", out)[1], shell=True, cwd=self.root, capture_output=True)
        self.assertIn(b"last hour", look.stdout)
        url = "host=%s/pg/sock user=postgres dbname=postgres" % self.demo
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            self.assertEqual(hook.psql(url, "SHOW " + name), [("on",)], name)
        servers = {p: t for p, t in processes(self.demo).items() if not t.startswith("tail ")}
        self.assertEqual(len(servers), 4, servers)  # PostgreSQL, lighttpd, two responders
        for pid, text in servers.items():
            if os.getuid() == 0:
                self.assertNotEqual(os.stat("/proc/%d" % pid).st_uid, 0, text)
        self.assertIn("running here already", self.once(2))
        self.assertTrue(run.poll() is None and set(servers) <= set(processes(self.demo)))
        os.killpg(run.pid, signal.SIGINT)
        rest, _ = run.communicate(timeout=30)
        self.assertIn("Stopped, and removed var/demo.", rest)
        self.assertNotIn("Error", rest)  # demo.sh ended with 0; make tells of its own signal alone
        self.assertClean()

    def test_after_a_kill(self):
        """All shells killed with -9, servers alive, and once more before PostgreSQL is made:
        the next run, with a changed binary, works and clears all of it."""
        run, out = self.running()
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        servers = processes(self.demo)
        self.assertEqual(len(servers), 4, servers)
        run = self.start()
        hook.wait_for(lambda: any("initdb" in t for t in processes(self.demo).values()), 20, "initdb")
        self.assertFalse(set(servers) & set(processes(self.demo)), "the killed run's servers are still there")
        for pid, text in processes(self.demo).items():
            if "cluster.sh" in text:
                os.kill(pid, signal.SIGKILL)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        for name in ("hookonce.fcgi", "hookonce"):  # a new file in its place, as a build makes it
            path = os.path.join(self.root, self.build, name)
            shutil.copy(path, path + ".new")
            os.rename(path + ".new", path)
        out = self.once()
        self.assertIn("Clearing away what an earlier run left.", out)
        self.assertShown(out, *self.FRESH)
        self.assertClean()

    def test_database_url(self):
        """DATABASE_URL: that database, no cluster; the rows stay, and a second run tells the
        truth about them. A wrong one ends with a sentence, and no server is left."""
        db = hook.Database(migrate=False)
        self.addCleanup(db.close)
        self.assertShown(self.once(DATABASE_URL=db.url), *self.FRESH)
        self.assertClean()
        out = self.once(DATABASE_URL=db.url)
        self.assertShown(out, "200 duplicate", *self.FRESH[1:])
        self.assertNotIn("cluster", out)
        self.assertClean()
        self.assertEqual(db.sql("SELECT event_id, outcome, deliveries FROM webhook_inbox"), [(EVENT, "processed", "4")])
        self.assertEqual(db.count("ledger_entries"), 1)
        out = self.once(2, DATABASE_URL="host=/nonexistent dbname=none")
        self.assertIn("the tables could not be made", out)
        self.assertEqual(processes(self.demo), {})


if __name__ == "__main__":
    hook.main()
