"""A Redis for the tests that run real Celery: an empty database of a local server, or one of our own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import redis

from river_compat.dev_server import free_port
from tests.requirements import missing

LOCAL_URL = "redis://127.0.0.1:6379"
OWNER_KEY = "river-test-owner"
OWNED_FOR = 3600
START_DEADLINE = 10.0


@contextmanager
def find_redis() -> Iterator[str]:
    """Give the URL of a Redis database that nobody else uses; it is emptied at the end.

    The order: RIVER_TEST_REDIS_URL, a local server with an empty database, a server started from a
    `redis-server` on PATH.
    """
    explicit = os.environ.get("RIVER_TEST_REDIS_URL")
    for server in filter(None, (explicit, LOCAL_URL)):
        url = _take_database(server)
        if url is not None:
            with _emptied(url):
                yield url
            return
    with own_redis() as url:
        yield url


def _take_database(server: str) -> str | None:
    """Mark the highest empty database of a server as ours; None when it has none or does not answer."""
    for number in range(15, 0, -1):
        url = f"{server.rstrip('/')}/{number}"
        with redis.Redis.from_url(url, socket_connect_timeout=2) as client, suppress(redis.RedisError):
            if client.dbsize() == 0 and client.set(OWNER_KEY, os.getpid(), nx=True, ex=OWNED_FOR):
                return url
    return None


@contextmanager
def _emptied(url: str) -> Iterator[None]:
    try:
        yield
    finally:
        with redis.Redis.from_url(url) as client:
            client.flushdb()


@contextmanager
def own_redis() -> Iterator[str]:
    """Start a server of our own from the `redis-server` on PATH; give the URL of a database of it."""
    program = shutil.which("redis-server")
    if program is None:
        missing("a Redis server: install redis-server, or set RIVER_TEST_REDIS_URL")
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="river-redis-") as directory:
        process = subprocess.Popen(
            [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", directory],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        try:
            url = f"redis://127.0.0.1:{port}/1"
            _wait_until_it_answers(url)
            yield url
        finally:
            process.terminate()
            process.wait(timeout=START_DEADLINE)


def _wait_until_it_answers(url: str) -> None:
    deadline = time.monotonic() + START_DEADLINE
    with redis.Redis.from_url(url) as client:
        while True:
            try:
                client.ping()
            except redis.ConnectionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)  # between two looks at a starting server
            else:
                return
