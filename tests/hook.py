"""What the integration tests share: a database of their own each, the real binaries as
CGI and as FastCGI, signing, raw HTTP, and waiting. Each test file runs by itself:
    B=build tests/run.sh it_cgi        (run.sh starts the private PostgreSQL)
"""
import atexit
import hashlib
import hmac
import itertools
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

TESTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TESTS)
BUILD = os.path.join(ROOT, os.environ.get("B", "build"))
FCGI = os.path.join(BUILD, "hookonce.fcgi")
OPERATOR = os.path.join(BUILD, "hookonce")
FIXTURES = os.path.join(TESTS, "fixtures")
REPORTS = os.path.join(TESTS, "reports")
SERVER = os.environ.get("TEST_CLUSTER", "")  # folder of the private cluster
CONNINFO = os.environ.get("TEST_CONNINFO", "")  # its connection string, dbname last
SECRET = "whsec_test_secret"
PATH = "/stripe/billing"
SANITIZED = "asan" in BUILD  # slower, and larger in memory

_serial = itertools.count(1)


def fixture(name):
    with open(os.path.join(FIXTURES, name), "rb") as f:
        return f.read()


def paid(event_id, invoice="in_1", **changes):
    """A small invoice.paid event as bytes; changes go into the invoice."""
    invoice = {"id": invoice, "object": "invoice", "customer": "cus_1", "status": "paid",
               "amount_paid": 1200, "currency": "usd", **changes}
    return event(event_id, "invoice.paid", invoice)


def event(event_id, event_type, obj, **envelope):
    return json.dumps({"id": event_id, "object": "event", "type": event_type, "created": 1760090000,
                       "livemode": True, **envelope, "data": {"object": obj}}).encode()


def sign(body, secret=SECRET, t=None):
    t = str(int(time.time())) if t is None else str(t)
    mac = hmac.new(secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
    return "t=%s,v1=%s" % (t, mac)


class Database:
    """A fresh database with the tables, dropped by close()."""

    def __init__(self, migrate=True, options=""):
        self.name = "t_%d_%d" % (os.getpid(), next(_serial))
        psql(CONNINFO, "CREATE DATABASE %s %s" % (self.name, options))
        self.url = CONNINFO.rsplit("dbname=", 1)[0] + "dbname=" + self.name
        if migrate:
            subprocess.run([OPERATOR, "migrate", "--database", self.url], check=True,
                           stdout=subprocess.DEVNULL)

    def sql(self, text):
        """The rows, each a tuple of texts; NULL is ''."""
        return psql(self.url, text)

    def one(self, text):
        return self.sql(text)[0][0]

    def count(self, table, where="true"):
        return int(self.one("SELECT count(*) FROM %s WHERE %s" % (table, where)))

    def close(self):
        psql(CONNINFO, "DROP DATABASE IF EXISTS %s WITH (FORCE)" % self.name)


def psql(url, text):
    run = subprocess.run(["psql", "-X", "-q", "-At", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", "-d", url],
                         input=text, capture_output=True, text=True)
    if run.returncode != 0:
        raise AssertionError("psql: %s\n%s" % (run.stderr, text))
    return [tuple(line.split("\x1f")) for line in run.stdout.splitlines()]


class Answer:
    """What came back: .status, .headers (lower case), .body (bytes), .log (text)."""

    def __init__(self, raw, log=""):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.headers = {}
        for line in lines:
            k, _, v = line.partition(": ")
            self.headers[k.lower()] = v
        first = lines[0]
        word = self.headers.get("status", "") if not first.startswith("HTTP/") else first.split(" ", 1)[1]
        self.status = int(word[:3]) if word[:3].isdigit() else None
        self.raw, self.log = raw, log

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def word(self):
        """The outcome or the reason."""
        j = self.json
        return j.get("outcome", j.get("error"))

    def __repr__(self):
        return "%s %s\n%s" % (self.status, self.body, self.log)


def variables(body=b"", method="POST", path=PATH, headers=None, length=True, **more):
    """The CGI variables of a request; a variable that is None is left out."""
    env = {"GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1", "REQUEST_METHOD": method,
           "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": "", "REMOTE_ADDR": "127.0.0.1",
           "SERVER_NAME": "localhost", "SERVER_PORT": "80", "CONTENT_TYPE": "application/json"}
    if length:
        env["CONTENT_LENGTH"] = str(len(body))
    for k, v in (headers or {}).items():
        env["HTTP_" + k.upper().replace("-", "_")] = v
    env.update(more)
    return {k: v for k, v in env.items() if v is not None}


def signed(body, secret=SECRET, t=None, **more):
    more.setdefault("headers", {})
    more["headers"] = {"Stripe-Signature": sign(body, secret, t), **more["headers"]}
    return variables(body, **more)


def environment(db=None, **more):
    """The environment of the program itself, apart from the request."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if k in os.environ:
            env[k] = os.environ[k]
    if db is not None:
        env.update(DATABASE_URL=db.url, STRIPE_WEBHOOK_SECRET=SECRET)
    env.update(more)
    return env


def cgi(env, variables, body=b"", argv=(), timeout=30):
    """One run as plain CGI: environment and stdin, nothing else."""
    run = subprocess.run([FCGI, *argv], env={**env, **variables}, input=body, capture_output=True,
                         timeout=timeout)
    answer = Answer(run.stdout, run.stderr.decode("latin-1"))
    answer.code = run.returncode
    return answer


class Responder:
    """hookonce.fcgi on a listening Unix socket, as a web server or spawn-fcgi runs it."""

    def __init__(self, env, processes=1, stderr=None, wrap=()):
        self.dir = tempfile.mkdtemp(prefix="hook")
        self.path = os.path.join(self.dir, "s")
        self.log_path = os.path.join(self.dir, "log")
        self.log_file = open(self.log_path, "wb")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(128)
        self.processes = [subprocess.Popen([*wrap, FCGI], env=env, stdin=self.listener,
                                           stderr=stderr or self.log_file) for _ in range(processes)]

    @property
    def pid(self):
        return self.processes[0].pid

    @property
    def log(self):
        with open(self.log_path, "rb") as f:
            return f.read().decode("latin-1")

    def connect(self, timeout=30):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(timeout)
        s.connect(self.path)
        return s

    def request(self, variables, body=b"", timeout=30):
        with self.connect(timeout) as s:
            s.sendall(fcgi_begin() + fcgi_params(variables) + fcgi_stdin(body))
            return fcgi_answer(s)

    def rss_kib(self):
        with open("/proc/%d/status" % self.pid) as f:
            return int(next(l for l in f if l.startswith("VmRSS")).split()[1])

    def stop(self, sig=signal.SIGTERM, timeout=10):
        """Signals all, waits, and returns their exit codes."""
        for p in self.processes:
            if p.poll() is None:
                p.send_signal(sig)
        codes = []
        for p in self.processes:
            try:
                codes.append(p.wait(timeout))
            except subprocess.TimeoutExpired:
                p.kill()
                codes.append(p.wait())
        self.listener.close()
        self.log_file.close()
        atexit.register(shutil.rmtree, self.dir, True)
        return codes


# FastCGI 1.0 records, for talking to the responder without a web server.
def fcgi_record(kind, content, request=1):
    return struct.pack("!BBHHBB", 1, kind, request, len(content), 0, 0) + content


def fcgi_begin(flags=0):
    return fcgi_record(1, struct.pack("!HB5x", 1, flags))


def fcgi_pairs(variables):
    out = b""
    for k, v in variables.items():
        k, v = k.encode("latin-1", "surrogateescape"), v.encode("utf-8", "surrogateescape")
        for n in (len(k), len(v)):
            out += struct.pack("!B", n) if n < 128 else struct.pack("!I", n | 0x80000000)
        out += k + v
    return out


def fcgi_stream(kind, content):
    parts = [content[i:i + 65528] for i in range(0, len(content), 65528)]
    return b"".join(fcgi_record(kind, p) for p in parts) + fcgi_record(kind, b"")


def fcgi_params(variables):
    return fcgi_stream(4, fcgi_pairs(variables))


def fcgi_stdin(body):
    return fcgi_stream(5, body)


def fcgi_answer(s):
    """Reads records to the end of the request; stdout is the answer, stderr its log."""
    out = {6: b"", 7: b""}
    data = b""
    while True:
        while len(data) < 8 or len(data) < 8 + struct.unpack("!H", data[4:6])[0] + data[6]:
            got = s.recv(65536)
            if not got:
                return Answer(out[6], out[7].decode("latin-1"))
            data += got
        kind, length, padding = data[1], struct.unpack("!H", data[4:6])[0], data[6]
        if kind == 3:
            return Answer(out[6], out[7].decode("latin-1"))
        if kind in out:
            out[kind] += data[8:8 + length]
        data = data[8 + length + padding:]


def http(port, body=b"", method="POST", path=PATH, headers=None, length=True, timeout=30):
    """One raw HTTP/1.1 request on loopback; headers may be a dict or a list of pairs."""
    items = list(headers.items()) if isinstance(headers, dict) else list(headers or [])
    head = "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" % (method, path)
    if length:
        items.append(("Content-Length", str(len(body))))
    head += "".join("%s: %s\r\n" % kv for kv in items) + "\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout) as s:
        try:
            s.sendall(head.encode("latin-1") + body)
        except OSError:
            pass  # refused early: the answer is there all the same
        data = b""
        while True:
            try:
                got = s.recv(65536)
            except ConnectionResetError:
                got = b""
            if not got:
                return Answer(data)
            data += got


def deliver(port, body, secret=SECRET, path=PATH, **more):
    return http(port, body, path=path, headers={"Content-Type": "application/json",
                                                "Stripe-Signature": sign(body, secret)}, **more)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(test, seconds=10, what="it"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = test()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("waited %s s in vain for %s" % (seconds, what))


def cluster(verb):
    """restart, stop, start or kill the private cluster."""
    subprocess.run([os.path.join(TESTS, "cluster.sh"), verb, SERVER], check=True,
                   stdout=subprocess.DEVNULL)


class Case(unittest.TestCase):
    """A test class with a database of its own (self.db), new for each test."""

    def setUp(self):
        self.db = Database()
        self.addCleanup(self.db.close)
        self.env = environment(self.db)

    def responder(self, processes=1, **more):
        r = Responder({**self.env, **more}, processes)
        self.addCleanup(r.stop)
        return r

    def cgi(self, body, secret=SECRET, t=None, argv=(), **more):
        """A signed delivery by plain CGI."""
        return cgi(self.env, signed(body, secret, t, **more), body, argv)

    def assertAnswer(self, answer, status, word=None):
        self.assertEqual(answer.status, status, answer)
        if word is not None:
            self.assertEqual(answer.word, word, answer)


def main():
    unittest.main(verbosity=2)
