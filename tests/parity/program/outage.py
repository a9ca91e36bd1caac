"""A way to the second broker that a case can cut: a proxy before a server, a lock on a file."""

import os
import socket
import sqlite3
import threading
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

URL = os.environ["PARITY_OWN_BROKER"]
AWAY = 1.0


@contextmanager
def outage():
    """Give the broker's URL, and `away()`, a block in which nobody reaches it."""
    parts = urlsplit(URL)
    if parts.scheme == "sqlite":
        yield Locked()
        return
    proxy = Proxy((parts.hostname or "127.0.0.1", parts.port))
    try:
        yield proxy
    finally:
        proxy.close()


class Locked:
    """A database file; while it is away somebody else holds it."""

    url = URL

    @contextmanager
    def away(self):
        """Hold the file, for longer than a look of the worker takes."""
        connection = sqlite3.connect(URL.removeprefix("sqlite:///"), isolation_level=None, timeout=10)
        connection.execute("BEGIN EXCLUSIVE")
        try:
            threading.Event().wait(AWAY)
            yield
        finally:
            connection.execute("ROLLBACK")
            connection.close()


class Proxy:
    """Passes connections on; while it is away it has cut them and refuses new ones."""

    def __init__(self, target):
        self._target, self._open, self._is_away = target, [], False
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        parts = urlsplit(URL)
        user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        self.url = urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{port}"))
        threading.Thread(target=self._accept, daemon=True).start()

    @contextmanager
    def away(self):
        """Cut every connection, and the new ones until the end of the block."""
        self._is_away = True
        self._cut()
        try:
            threading.Event().wait(AWAY)
            yield
        finally:
            self._is_away = False

    def close(self):
        """Take no more connections."""
        self._listener.close()
        self._cut()

    def _accept(self):
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._is_away:
                    near.close()
                    continue
                far = socket.create_connection(self._target)
                self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source, sink):
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _cut(self):
        while self._open:
            each = self._open.pop()
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
