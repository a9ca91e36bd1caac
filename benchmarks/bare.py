"""Works jobs by the bare statements alone, to see what the database gives: fetch, complete, and nothing else.

On two connections the next fetch overlaps with the writing of what came before, as in a worker.
"""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import Any

import psycopg

from benchmarks.row import QUEUE, bare

CLIENT = "bare"
BATCH = 1_000


def one_connection(url: str) -> float:
    """Fetch and complete in turn; return the seconds it took."""
    with psycopg.connect(url, autocommit=True) as connection:
        began = time.monotonic()
        while ids := _fetch(connection):
            _complete(connection, ids)
        return time.monotonic() - began


def two_connections(url: str) -> float:
    """Fetch on one connection and complete on the other; return the seconds it took."""
    fetched: SimpleQueue[list[int]] = SimpleQueue()
    with psycopg.connect(url, autocommit=True) as first, psycopg.connect(url, autocommit=True) as second:
        began = time.monotonic()
        completer = threading.Thread(target=_complete_all, args=(second, fetched))
        completer.start()
        while ids := _fetch(first):
            fetched.put(ids)
        fetched.put([])
        completer.join()
        return time.monotonic() - began


def _fetch(connection: psycopg.Connection[Any]) -> list[int]:
    parameters = {"queue": QUEUE, "client_id": CLIENT, "limit": BATCH}
    return [row[0] for row in connection.execute(bare("fetch"), parameters).fetchall()]


def _complete(connection: psycopg.Connection[Any], ids: list[int]) -> None:
    connection.execute(bare("complete"), {"ids": ids})


def _complete_all(connection: psycopg.Connection[Any], fetched: SimpleQueue[list[int]]) -> None:
    while ids := fetched.get():
        _complete(connection, ids)
