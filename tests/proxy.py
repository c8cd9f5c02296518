"""Stands between a PostgreSQL client and the server, and cuts, drops or delays at a message."""
import os
import re
import socket
import struct
import tempfile
import threading


class Proxy:
    """A Unix socket that forwards to the server of a connection string. The callbacks see each
    whole message before it is passed on and may return False to stop everything there:
        from_client(kind, number)    kind b"" is the start-up message
        from_server(kind, number)
    What follows is dropped; the connections stay open until close()."""

    def __init__(self, url, from_client=None, from_server=None):
        self.target = os.path.join(re.search(r"host=(\S+)", url).group(1), ".s.PGSQL.5432")
        self.dir = tempfile.mkdtemp(prefix="hookproxy")
        self.url = re.sub(r"host=\S+", "host=" + self.dir, url)
        self.from_client = from_client or (lambda kind, n: True)
        self.from_server = from_server or (lambda kind, n: True)
        self.sockets = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(self.dir, ".s.PGSQL.5432"))
        self.listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:
                client.close()
                continue
            self.sockets += [client, server]
            threading.Thread(target=self._pump, args=(client, server, self.from_client, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, self.from_server, False), daemon=True).start()

    def _pump(self, source, sink, see, starts):
        data, number = b"", 0
        try:
            while True:
                head = 4 if starts else 5
                while len(data) < head or len(data) < head - 4 + struct.unpack("!I", data[head - 4:head])[0]:
                    got = source.recv(65536)
                    if not got:
                        sink.shutdown(socket.SHUT_RDWR)
                        return
                    data += got
                size = head - 4 + struct.unpack("!I", data[head - 4:head])[0]
                kind = b"" if starts else data[:1]
                if not see(kind, number):
                    return
                sink.sendall(data[:size])
                data, number, starts = data[size:], number + 1, False
        except OSError:
            pass

    def cut(self):
        """Ends all connections, as a network or a host that goes away does."""
        for s in self.sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
        self.cut()
        for s in self.sockets:
            s.close()
        os.unlink(os.path.join(self.dir, ".s.PGSQL.5432"))
        os.rmdir(self.dir)
