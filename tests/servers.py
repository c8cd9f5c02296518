"""Private instances of lighttpd, Apache and nginx with the files of httpd-conf/.

An instance lives below a folder of its own: every path that a configuration names
(/usr/local/lib/hookonce, /etc/hookonce.conf, /run, /var) is put below it and the port is
a free one. Nothing else of a configuration is changed.
"""
import glob
import grp
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import hook

CONF = os.path.join(hook.ROOT, "httpd-conf")
OWN_PATHS = re.compile(r"(?<![\w.])(?=/(?:usr/local|etc/hookonce|home/me|run|var)[/.])")
FOLDERS = ("usr/local/lib/hookonce", "etc", "home/me/private", "run/lighttpd", "run/apache2",
           "var/log/lighttpd", "var/log/apache2", "var/log/nginx", "var/cache/lighttpd/uploads",
           "var/lib/apache2/fcgid/sock", "var/lib/nginx", "var/www/html")
WEB_WRITES = ("run/lighttpd", "var/cache/lighttpd/uploads", "var/lib/apache2/fcgid/sock",
              "var/lib/apache2/fcgid", "var/log/lighttpd")
# nginx's places for bodies, which are compiled in
NGINX_TEMP = "".join(" %s_temp_path /var/lib/nginx/%s;" % (k, k) for k in
                     ("client_body", "fastcgi", "proxy", "uwsgi", "scgi"))
SPAWN_USER = ("nobody", "nogroup")  # stands for the user hookonce


def stat(pid):
    """(name, state, parent) of a process, None when it is gone."""
    try:
        with open("/proc/%s/stat" % pid) as f:
            head, _, tail = f.read().rpartition(")")
    except OSError:
        return None
    fields = tail.split()
    return head.partition("(")[2], fields[0], int(fields[1])


def plain(answer):
    """The final answer, without a 100 before it and without chunks in it."""
    raw = answer.raw
    if raw.startswith(b"HTTP/1.1 100"):
        raw = raw.partition(b"\r\n\r\n")[2]
    answer = hook.Answer(raw)
    if answer.headers.get("transfer-encoding") == "chunked":
        rest, answer.body = answer.body, b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            answer.body += rest[:int(size, 16)]
            rest = rest[int(size, 16) + 2:]
    return answer


def chunks(body, size=4096):
    """A body as Transfer-Encoding: chunked has it."""
    parts = [body[i:i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"


def message(body, path, length=None):
    """A signed delivery as raw HTTP; length: another one than the body's."""
    head = ("POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nStripe-Signature: %s\r\n"
            "Content-Length: %d\r\n\r\n" % (path, hook.sign(body), length or len(body)))
    return head.encode() + body


def at_once(port, bodies, path):
    """Delivers all at the same moment: each request lacks its last byte until then."""
    sockets = []
    for body in bodies:
        s = socket.create_connection(("127.0.0.1", port), 60)
        s.sendall(message(body, path)[:-1])
        sockets.append(s)
    for s, body in zip(sockets, bodies):
        s.sendall(body[-1:])
    answers = []
    for s in sockets:
        with s, s.makefile("rb") as f:
            answers.append(plain(hook.Answer(f.read())))
    return answers


class Lock:
    """Another session's transaction that holds what a statement locked, until released."""

    def __init__(self, db, sql):
        self.psql = subprocess.Popen(["psql", "-X", "-q", "-At", "-d", db.url], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.psql.stdin.write("BEGIN;\n%s;\nSELECT 'held';\n" % sql)
        self.psql.stdin.flush()
        while self.psql.stdout.readline() not in ("held\n", ""):
            pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.psql.communicate("ROLLBACK;\n", timeout=10)


class Instance:
    """One deployment: a web server and, where it is spawned, hookonce.fcgi beside it."""

    def __init__(self, kind, conf, group="www-data", spawned=False, edit=None, log=None):
        """kind: lighttpd, apache or nginx; conf: a file of httpd-conf, or a text with line
        ends in it; edit: what a test changes in the text."""
        self.kind, self.group, self.spawned = kind, group, spawned
        self.dir = tempfile.mkdtemp(prefix="hookweb")
        os.chmod(self.dir, 0o755)
        for f in FOLDERS:
            os.makedirs(os.path.join(self.dir, f), 0o755, exist_ok=True)
        for f in WEB_WRITES:
            shutil.chown(os.path.join(self.dir, f), "www-data", "www-data")
        shutil.copy(hook.FCGI, self.path("/usr/local/lib/hookonce/hookonce.fcgi"))
        self.port = hook.free_port()
        text = conf if "\n" in conf else self.shipped(conf)
        if kind == "nginx":
            text = text.replace("http {", "http {" + NGINX_TEMP)
        self.conf = self.write("/etc/server.conf", self.own(edit(text) if edit else text))
        self.log_path = self.path("/var/log/%s/hookonce.%s" % (
            {"apache": "apache2"}.get(kind, kind), log or "log"))
        self.server = self.spawner = None
        self.errors = open(self.path("/var/log/start"), "w+b")

    def shipped(self, name):
        with open(os.path.join(CONF, name)) as f:
            return f.read()

    def path(self, path):
        return self.dir + path

    def own(self, text):
        return OWN_PATHS.sub(self.dir, text).replace("8080", str(self.port))

    def write(self, path, text, mode=0o644, group="root"):
        with open(self.path(path), "w") as f:
            f.write(text)
        os.chown(f.name, 0, grp.getgrnam(group).gr_gid)
        os.chmod(f.name, mode)
        return f.name

    def configure(self, db, at="/etc/hookonce.conf", edit=None):
        """The shipped example with this database and the tests' secret, readable by the
        program's group alone."""
        text = self.shipped("hookonce.conf.example").replace("postgresql:///billing", db.url)
        self.write("/etc/hookonce.stripe.secret", hook.SECRET + "\n", 0o640, self.group)
        self.write(at, self.own(edit(text) if edit else text), 0o640, self.group)

    def start(self):
        if self.spawned:
            self.spawn()
        command = {"lighttpd": ["lighttpd", "-D", "-f", self.conf],
                   "apache": ["apache2", "-f", self.conf, "-DFOREGROUND"],
                   "nginx": ["nginx", "-e", self.log_path, "-c", self.conf, "-g", "daemon off;"]}
        self.server = self.run(command[self.kind])
        hook.wait_for(self.listens, 20, self.kind)

    def run(self, command, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "HOOKONCE"))}
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.errors,
                                stderr=self.errors, start_new_session=True,
                                env={**env, **more.pop("env", {})}, **more)

    def listens(self):
        if self.server.poll() is not None:
            raise AssertionError("%s ended with %s\n%s" % (
                self.kind, self.server.returncode, self.output[-4000:]))
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def socket(self):
        return self.path("/run/hookonce/hookonce.sock")

    def start_spawner(self, umask=0o022):
        script = self.write("/etc/spawn-fcgi.sh", self.own(self.shipped("spawn-fcgi.sh")))
        env = {"HOOKONCE_USER": SPAWN_USER[0], "HOOKONCE_GROUP": SPAWN_USER[1]}
        return self.run(["sh", script], env=env, umask=umask)

    def spawn(self, umask=0o022):
        """Runs spawn-fcgi.sh and waits until its socket takes connections."""
        spawner = self.spawner = self.start_spawner(umask)

        def up():
            if spawner.poll() is not None:
                raise AssertionError("spawn-fcgi.sh ended with %s\n%s" % (spawner.returncode, self.output[-4000:]))
            with socket.socket(socket.AF_UNIX) as s:
                return s.connect_ex(self.socket) == 0
        hook.wait_for(up, 10, "spawn-fcgi.sh")

    def reload(self):
        """What the system's reload does: requests in hand are finished."""
        self.server.send_signal(signal.SIGHUP if self.kind == "nginx" else signal.SIGUSR1)

    def responders(self):
        """The processes of this instance's hookonce.fcgi: their pids."""
        found = []
        for exe in glob.glob("/proc/[0-9]*/exe"):
            try:
                if os.readlink(exe).startswith(self.path("/")):
                    found.append(int(exe.split("/")[2]))
            except OSError:
                pass
        return found

    def strays(self):
        """Zombies below the server, and responders that are below it no more."""
        mine = {p.pid for p in (self.server, self.spawner) if p is not None}
        seen = {int(p): stat(p) for p in os.listdir("/proc") if p.isdigit()}
        seen = {p: s for p, s in seen.items() if s is not None}
        more = mine
        while more:
            more = {p for p, s in seen.items() if s[2] in mine} - mine
            mine |= more
        return ([(p, seen[p]) for p in mine if p in seen and seen[p][1] == "Z"] +
                [(p, seen[p]) for p in self.responders() if p in seen and p not in mine])

    @property
    def log(self):
        with open(self.log_path, "rb") as f:
            return f.read().decode("latin-1")

    @property
    def output(self):
        text = ""
        for name in [self.errors.name, *glob.glob(self.path("/var/log/*/*"))]:
            with open(name, "rb") as f:
                text += f.read().decode("latin-1")
        return text

    def stop(self):
        """Ends all of it; returns the responders that were left, and sanitizers' reports."""
        for p in (self.server, self.spawner):
            if p is not None and p.poll() is None:
                p.send_signal(signal.SIGTERM)
        for p in (self.server, self.spawner):
            if p is None:
                continue
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        end = time.monotonic() + 15
        while self.responders() and time.monotonic() < end:
            time.sleep(0.02)
        left = self.responders()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        left += re.findall(r"ERROR: .*Sanitizer.*|runtime error: .*", self.output)
        self.errors.close()
        shutil.rmtree(self.dir, ignore_errors=True)
        return left
