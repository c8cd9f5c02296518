"""The manual pages say what the programs do, no less and no more; the service files are sound.
Options come from each command's --help, keys from the configuration's own messages."""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import hook

CONF = os.path.join(hook.ROOT, "httpd-conf")
PAGES = ("hookonce.1", "hookonce.fcgi.8", "hookonce.conf.5")
UNITS = ("hookonce-fcgi.socket", "hookonce-fcgi@.service", "hookonce-worker.service")
OPTION = r"Fl -([\w-]+)(?: Ar (\w+))?"


def source(*names):
    with open(os.path.join(hook.ROOT, *names)) as f:
        return f.read()


def page(name):
    return source("src", name)


def section(text, heading, macro="Sh"):
    """What stands below a heading, to the next one as high."""
    found = re.search(r"^\.%s %s\n(.*?)(?=^\.(?:Sh|%s) |\Z)" % (macro, re.escape(heading), macro), text, re.M | re.S)
    return found.group(1) if found else ""


def run(*args, env=None):
    return subprocess.run([hook.OPERATOR, *args], env=env or hook.environment(), capture_output=True, text=True)


def commands():
    return re.findall(r"^  (\w+) ", run("help").stdout, re.M)


def options(command):
    """{(option, argument or '')} of its --help."""
    return set(re.findall(r"^  --([\w-]+)(?: ([A-Z]+))? ", run(command, "--help").stdout, re.M))


def known_keys(text):
    """The keys that the message about an unknown one names."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(text + "nonsense = 1\n")
        f.flush()
        said = run("config", "--config", f.name).stderr
    return set(said.rpartition("only these are known here: ")[2].strip().split(", "))


class Manual(unittest.TestCase):
    def test_lint(self):
        """mandoc finds nothing to warn of."""
        for name in PAGES:
            lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", os.path.join(hook.ROOT, "src", name)],
                                  capture_output=True, text=True)
            self.assertEqual((lint.returncode, lint.stdout), (0, ""), name)

    def test_commands(self):
        """Every sub-command has a section, and no other has."""
        found = re.findall(r"^\.Ss (\w+)$", section(page("hookonce.1"), "COMMANDS"), re.M)
        self.assertEqual(found, commands())

    def test_options(self):
        """A command's synopsis has the options of its --help, and each is explained."""
        text = page("hookonce.1")
        common = set(re.findall(r"^\.It " + OPTION, section(text, "DESCRIPTION"), re.M))
        self.assertIn(("help", ""), common)
        for command in commands():
            part = section(section(text, "COMMANDS"), command, "Ss")
            synopsis = part.partition(".Pp\n")[0]
            self.assertIn(".Nm\n.Cm %s\n" % command, synopsis)
            self.assertEqual(set(re.findall(r"^\.Op " + OPTION, synopsis, re.M)), options(command), command)
            explained = set(re.findall(r"^\.It " + OPTION, part, re.M))
            self.assertEqual(explained - options(command), set(), command)
            self.assertEqual(options(command) - explained - common, set(), command)

    def test_exit_codes(self):
        """Those of the program, and of a monitoring plugin."""
        codes = re.findall(r"^\.It (\d)$", section(page("hookonce.1"), "EXIT STATUS"), re.M)
        self.assertEqual("".join(codes), "01234" + "0123")

    def test_defaults(self):
        """A default in a command's --help stands in the page too."""
        text = section(page("hookonce.1"), "COMMANDS")
        for command in commands():
            part = section(text, command, "Ss")
            for option, default in re.findall(r"^  --([\w-]+) [A-Z].*\((\d+[a-z]*|stripe|now)\)$",
                                              run(command, "--help").stdout, re.M):
                said = re.search(r"^\.It Fl -%s .*?(?=^\.It|^\.El)" % option, part, re.M | re.S).group(0)
                self.assertRegex(said, r"\(%s\)|\.Pq Li %s " % (default, default), (command, option))

    def test_keys(self):
        """Every key of the configuration is explained, and no other."""
        found = set(re.findall(r"^\.It Ic (\w+) Li =", page("hookonce.conf.5"), re.M))
        wanted = known_keys("") | known_keys("database = x\n[endpoint e]\n")
        self.assertGreaterEqual(wanted, {"database", "path", "secret"})
        self.assertEqual(found, wanted)

    def test_example(self):
        """The page's example is a good configuration but for its secrets, and has its order."""
        text = re.search(r"^\.Bd.*?\n(.*?)^\.Ed", section(page("hookonce.conf.5"), "EXAMPLES"), re.M | re.S).group(1)
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
            f.write(re.sub(r"file:\S+", "whsec_x", text))
            f.flush()
            got = run("config", "--config", f.name)
        self.assertEqual((got.returncode, got.stderr), (0, ""))
        for line in text.splitlines():
            if line and not line.startswith("secret"):
                self.assertIn(line + "\n", got.stdout)

    def test_answers(self):
        """Every error that an answer can have, with its code (src/status.c)."""
        table = re.findall(r'= \{"(\w+)",\s*"[^"]*",\s*(\d+)', source("src", "status.c"))
        never = {"ok", "parked", "io_error", "usage", "warning", "critical", "unknown", "refused"}
        wanted = {(word, code) for word, code in table if word not in never}
        self.assertGreater(len(wanted), 25)
        text = section(page("hookonce.fcgi.8"), "ANSWERS")
        self.assertEqual(set(re.findall(r"^\.It Li (\w+) Ta (\d+) ", text, re.M)), wanted)
        outcomes = set(re.findall(r'\[OUTCOME_\w+\] = "(\w+)"', source("src", "apply.c")))
        self.assertEqual(set(re.findall(r"^\.It Li (\w+)$", text, re.M)), outcomes | {"healthy"})

    def test_log_fields(self):
        """Every field of a log line: the responder's and the worker's."""
        def fields(text):
            return set(" , ".join(re.findall(r"^\.It Li ([\w ,]+)$", text, re.M)).split(" , "))
        code = source("src", "delivery.c")
        wanted = set(re.findall(r'log_(?:add|text)\(&?\w+, "(\w+)"', code)) | \
            set(re.findall(r'\{ST_\w+, "(\w+)", "[A-Z_]+"\}', code)) | {"ts"}
        self.assertEqual(fields(section(page("hookonce.fcgi.8"), "LOG")), wanted)
        wanted = set(re.findall(r'log_(?:add|text)\(&?\w+, "(\w+)"', source("src", "worker.c")))
        worker = section(section(page("hookonce.1"), "COMMANDS"), "worker", "Ss")
        self.assertEqual(fields(worker) | {"endpoint", "event", "type"}, wanted)

    def test_members(self):
        """Every member of status --json (src/cmd_status.c)."""
        text = section(section(page("hookonce.1"), "COMMANDS"), "status", "Ss")
        said = re.search(r"^\.It Fl -json\n(.*?)^\.It", text, re.M | re.S).group(1)
        names = re.findall(r'\{"(\w+)", s->', source("src", "cmd_status.c"))
        self.assertGreater(len(names), 8)
        self.assertEqual(set(re.findall(r"\w+", " ".join(re.findall(r"^\.Li (.*)$", said, re.M)))), set(names))


class Services(unittest.TestCase):
    def test_command_lines(self):
        """The commands in the service file and the crontab are commands, with their options."""
        for name in ("hookonce-worker.service", "crontab.example"):
            found = re.findall(r"^[^#\n]*?\bhookonce ([a-z]+)([^\n|>&2]*)", source("httpd-conf", name), re.M)
            self.assertTrue(found, name)
            for command, rest in found:
                self.assertIn(command, commands())
                for option in re.findall(r"--([\w-]+)", rest):
                    self.assertIn(option, {o for o, _ in options(command)}, (name, command))

    def test_crontab(self):
        """The mail: nothing when all is well, the state when not."""
        line = re.search(r"^\*/15 \* \* \* \*\s+(.*)$", source("httpd-conf", "crontab.example"), re.M).group(1)
        for code in (0, 1, 2, 3):
            with tempfile.TemporaryDirectory() as d:
                with open(os.path.join(d, "hookonce"), "w") as f:
                    f.write("#!/bin/sh\necho \"HOOKONCE $*\"\nexit %d\n" % code)
                os.chmod(f.name, 0o755)
                with open(os.path.join(d, "hookonce-worker.log"), "w") as f:
                    f.write("worked\n")
                sh = subprocess.run(["sh", "-c", line], cwd=d, env={"PATH": d + ":" + os.environ["PATH"]},
                                    capture_output=True, text=True)
            self.assertEqual(sh.stderr, "")
            self.assertEqual(sh.stdout, "HOOKONCE status --check\nworked\n" if code else "")

    def test_socket(self):
        """The socket is where the web servers' files look for it, and the services share it."""
        unit = source("httpd-conf", "hookonce-fcgi.socket")
        path = re.search(r"^ListenStream=(.*)$", unit, re.M).group(1)
        for name in ("nginx.conf", "lighttpd-spawn.conf", "apache-proxy-fcgi.conf", "spawn-fcgi.sh"):
            self.assertIn(path, source("httpd-conf", name), name)
        self.assertIn(path, page("hookonce.fcgi.8"))
        self.assertIn("\nSocketMode=0660\n", unit)
        service = source("httpd-conf", "hookonce-fcgi@.service")
        for line in ("Sockets=hookonce-fcgi.socket", "StandardInput=socket", "StandardError=journal"):
            self.assertIn("\n%s\n" % line, service)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze here")
    def test_units(self):
        """systemd knows every line of them."""
        with tempfile.TemporaryDirectory() as d:
            for name in UNITS:
                text = source("httpd-conf", name)
                text = re.sub(r"(?<=^ExecStart=)/usr/local/(?:lib/hookonce|bin)", hook.BUILD, text, flags=re.M)
                with open(os.path.join(d, name), "w") as f:
                    f.write(text)
            units = [os.path.join(d, u.replace("@", "@%d" % n)) for u in UNITS for n in ((1, 2) if "@" in u else (0,))]
            got = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units],
                                 capture_output=True, text=True)
        self.assertEqual((got.returncode, got.stdout, got.stderr), (0, "", ""))

    @unittest.skipUnless(shutil.which("systemd-socket-activate"), "no systemd-socket-activate here")
    def test_socket_activation(self):
        """With the listening socket as fd 0, as StandardInput=socket gives it: FastCGI, on and on."""
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "s")
            env = hook.environment(DATABASE_URL="host=/nonexistent", STRIPE_WEBHOOK_SECRET=hook.SECRET)
            passed = [a for k, v in env.items() for a in ("-E", "%s=%s" % (k, v))]
            with open(os.path.join(d, "log"), "w") as log:
                server = subprocess.Popen(["systemd-socket-activate", "-l", path, "--inetd", *passed, hook.FCGI],
                                          env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self.addCleanup(lambda: server.poll() is None and server.kill())
            hook.wait_for(lambda: os.path.exists(path), what="the socket")
            for _ in range(3):
                with socket.socket(socket.AF_UNIX) as s:
                    s.settimeout(30)
                    s.connect(path)
                    s.sendall(hook.fcgi_begin() + hook.fcgi_params(hook.variables(b"{}")) + hook.fcgi_stdin(b"{}"))
                    answer = hook.fcgi_answer(s)
                self.assertEqual((answer.status, answer.word), (400, "signature_missing"), answer)
            server.terminate()
            self.assertEqual(server.wait(10), 0)


if __name__ == "__main__":
    hook.main()
