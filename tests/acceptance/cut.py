"""A way to a database server that can be cut, as a network is: for both sides the other one is silent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

CHUNK = 65_536


class Way:
    """Passes on what comes in at its port, until it is cut and when it is whole again."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._passing: list[threading.Thread] = []
        self._lock = threading.Lock()  # what is being connected when the way is cut is cut, too
        self._whole = True
        login, at, _ = parts.netloc.rpartition("@")
        port = self._listener.getsockname()[1]
        self.url = urlunsplit(parts._replace(netloc=f"{login}{at}127.0.0.1:{port}"))
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def cut(self) -> None:
        """End all connections and let new ones fail."""
        with self._lock:
            self._whole = False
            self._end()

    def mend(self) -> None:
        """Let new connections through again."""
        with self._lock:
            self._whole = True

    def close(self) -> None:
        """End everything."""
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        for thread in self._passing:
            thread.join()

    def _end(self) -> None:
        for pair in self._pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                with self._lock:
                    self._let_through(client)

    def _let_through(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._server) if self._whole else None
        except OSError:
            server = None  # to the client the server's refusal looks like a cut; the next one may pass
        if server is None:
            client.close()
            return
        self._pairs.append((client, server))
        self._passing.append(threading.Thread(target=_join, args=(client, server), daemon=True))
        self._passing[-1].start()


def _join(client: socket.socket, server: socket.socket) -> None:
    with client, server:
        back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
        back.start()
        _pass_on(client, server)
        back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def cuttable(url: str) -> Iterator[Way]:
    """A way to the server of a URL."""
    way = Way(url)
    try:
        yield way
    finally:
        way.close()
