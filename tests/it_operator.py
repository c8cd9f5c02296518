"""The operator's program as a person at a terminal uses it."""
import http.server
import json
import os
import re
import subprocess
import threading
import unittest

import hook

EVENT = os.path.join(hook.FIXTURES, "2023-10-16", "05-invoice.paid.json")


def run(*args, env=None, stdin=b""):
    """Exit code, stdout, stderr."""
    p = subprocess.run([hook.OPERATOR, *args], env=env or hook.environment(), input=stdin, capture_output=True)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


class Commands(hook.Case):
    def test_help(self):
        """Help for the program and for each command, on stdout, with 0."""
        for args in (("help",), ("--help",), ("-h",)):
            code, out, err = run(*args)
            self.assertEqual((code, err), (0, ""))
            names = re.findall(r"^  (\w+) ", out, re.M)
            self.assertIn("migrate", names)
        for name in names:
            for args in ((name, "--help"), ("help", name)):
                code, out, err = run(*args)
                self.assertEqual((code, err), (0, ""), args)
                self.assertTrue(out.startswith("usage: hookonce " + name), out)
                self.assertTrue(all(len(line) <= 80 for line in out.splitlines()), out)

    def test_usage_errors(self):
        """A wrong command line: a sentence on stderr, nothing on stdout, 2."""
        for args in ((), ("nonsense",), ("migrate", "--nonsense"), ("migrate", "--database"), ("config", "x"),
                     ("sign",), ("sign", "--nonsense", EVENT), ("send",), ("status", "--json", "x"),
                     ("help", "nonsense"), ("sign", "--provider", "nobody", "--secret", "x", EVENT),
                     ("sign", "--secret", "", EVENT)):
            code, out, err = run(*args)
            self.assertEqual((code, out), (2, ""), args)
            self.assertTrue(err.startswith(("hookonce: ", "hookonce: webhooks")), (args, err))

    def test_no_configuration(self):
        """Without a configuration: 3 and what to do; a configuration with a mistake: its line."""
        for name in ("migrate", "config", "status"):
            code, out, err = run(name)
            self.assertEqual((code, out), (3, ""), name)
            self.assertIn("HOOKONCE_CONF", err)
        code, out, err = run("config", "--config", "/nonexistent")
        self.assertEqual((code, out), (3, ""))
        self.assertIn("/nonexistent: cannot be read", err)

    def test_no_database(self):
        """No database: 4 and a sentence; no tables: told to migrate."""
        for name in ("migrate", "status"):
            code, out, err = run(name, "--database", "host=/nonexistent dbname=x")
            self.assertEqual((code, out), (4, ""), name)
            self.assertIn("the database cannot be reached", err)
        empty = hook.Database(migrate=False)
        self.addCleanup(empty.close)
        code, out, err = run("status", "--database", empty.url)
        self.assertEqual((code, out), (4, ""))
        self.assertIn("hookonce migrate", err)

    def test_migrate(self):
        """migrate applies what is missing, once; psql -f with the files gives the same tables."""
        one, two = hook.Database(migrate=False), hook.Database(migrate=False)
        self.addCleanup(one.close)
        self.addCleanup(two.close)
        code, out, _ = run("migrate", "--database", one.url)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^applied (\d+) of \1 migrations")
        self.assertEqual(run("migrate", "--database", one.url)[1][:13], "nothing to do")
        for file in sorted(os.listdir(os.path.join(hook.ROOT, "db"))):
            if file[0].isdigit():
                subprocess.run(["psql", "-q", "-X", "-1", "-v", "ON_ERROR_STOP=1", "-d", two.url, "-f",
                                os.path.join(hook.ROOT, "db", file)], check=True)
        self.assertEqual(run("migrate", "--database", two.url)[1][:13], "nothing to do")
        shape = ("SELECT table_name, column_name, data_type, is_nullable, column_default FROM"
                 " information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2")
        self.assertEqual(one.sql(shape), two.sql(shape))

    def test_search_path_places_the_tables(self):
        """A search_path in the connection string places the tables."""
        self.db.sql("CREATE SCHEMA hooks")
        url = self.db.url + " options='-c search_path=hooks'"
        self.assertEqual(run("migrate", "--database", url)[0], 0)
        a = hook.cgi({**self.env, "DATABASE_URL": url}, hook.signed(hook.paid("evt_1")), hook.paid("evt_1"))
        self.assertEqual(a.word, "processed")
        self.assertEqual((self.db.count("hooks.webhook_inbox"), self.db.count("public.webhook_inbox")), (1, 0))

    def test_config(self):
        """What is in effect, secrets masked, in the file's own form."""
        path = "/tmp/hookonce-operator-%d.conf" % os.getpid()
        self.addCleanup(os.unlink, path)
        with open(path, "w") as f:
            os.chmod(path, 0o600)
            f.write("database = postgresql://me:hidden@localhost/b?password=hidden2\n[endpoint e]\npath = /p\n"
                    "provider = stripe\nsecret = whsec_hidden3\nsecret = whsec_hidden4\nlivemode = true\n")
        code, out, err = run("config", "--config", path)
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("hidden", out)
        for line in ("database = ********", "[endpoint e]",
                     "path = /p", "tolerance = 300", "max_body = 1048576", "livemode = true", "account = none"):
            self.assertIn(line + "\n", out)
        self.assertEqual(out.count("secret = ********"), 2)

    def test_sign(self):
        """The header for a file and a secret, from every place a secret can stand in."""
        with open(EVENT, "rb") as f:
            body = f.read()
        want = "Stripe-Signature: %s\n" % hook.sign(body, t=1700000000)
        secret = "/tmp/hookonce-secret-%d" % os.getpid()
        self.addCleanup(os.unlink, secret)
        with open(secret, "w") as f:
            f.write(hook.SECRET + "\n")
        for given, env in ((hook.SECRET, {}), ("env:S", {"S": hook.SECRET}), ("file:" + secret, {})):
            code, out, _ = run("sign", "--secret", given, "--time", "1700000000", EVENT,
                               env=hook.environment(**env))
            self.assertEqual((code, out), (0, want))
        code, out, _ = run("sign", "--time", "1700000000", "-", env=self.env, stdin=body)
        self.assertEqual((code, out), (0, want))
        code, out, err = run("sign", "--secret", "x", "/nonexistent")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("/nonexistent cannot be read", err)

    def test_send(self):
        """Files are signed and posted; each answer is one line; another than 200 is a failure."""
        seen = []

        class Server(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                seen.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
                code = 200 if len(seen) < 3 else 400
                self.send_response(code)
                self.end_headers()
                self.wfile.write(b'{"outcome":"x\x1b[2J"}\nmore')

            def log_message(self, *args):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = "http://127.0.0.1:%d/hook" % server.server_port
        code, out, err = run("send", "--url", url, EVENT, EVENT, env=self.env)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, '200 {"outcome":"x?[2J"} %s\n' % EVENT + '200 {"outcome":"x?[2J"} %s\n' % EVENT)
        path, headers, body = seen[0]
        t = re.match(r"t=(\d+),", headers["Stripe-Signature"]).group(1)
        self.assertEqual((path, headers["Stripe-Signature"]), ("/hook", hook.sign(body, t=t)))
        code, out, _ = run("send", "--url", url, "--forged", EVENT, env=self.env)
        self.assertEqual((code, out[:4]), (1, "400 "))
        t = re.match(r"t=(\d+),", seen[2][1]["Stripe-Signature"]).group(1)
        self.assertNotEqual(seen[2][1]["Stripe-Signature"], hook.sign(body, t=t))
        server.shutdown()
        server.server_close()
        code, out, err = run("send", "--url", url, EVENT, env=self.env)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("onnect", err)
        code, out, err = run("send", "--url", "file:///etc/passwd", EVENT, env=self.env)
        self.assertEqual((code, out), (1, ""))

    def test_status(self):
        """The numbers, for people and for machines."""
        self.cgi(hook.paid("evt_1"))
        self.cgi(hook.paid("evt_1"))
        self.cgi(hook.paid("evt_2", amount_paid="x"))
        code, out, err = run("status", env=self.env)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"resting +1 ")
        self.assertRegex(out, r"invoice.paid +2 +1\n")
        code, out, err = run("status", "--json", env=self.env)
        got = json.loads(out)
        self.assertEqual((got["unprocessed"], got["resting"], got["reviews"], got["hour_events"],
                          got["hour_duplicates"], got["outbox_waiting"]), (1, 1, 1, 2, 1, 1))


if __name__ == "__main__":
    hook.main()
