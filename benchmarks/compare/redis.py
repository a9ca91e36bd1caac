"""A private Redis that keeps nothing on disk: Celery's fastest store."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis

from river_compat.dev_server import free_port

START_SECONDS = 10.0


@contextmanager
def private_redis() -> Iterator[str]:
    """Give the URL of a fresh server for the block; raises SystemExit where there is no program."""
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("no redis-server was found: install Redis to compare with Celery on it")
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="river-redis-") as directory:
        place = ["--port", str(port), "--bind", "127.0.0.1", "--dir", directory]
        server = subprocess.Popen(
            [program, *place, "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL
        )
        try:
            url = f"redis://127.0.0.1:{port}/0"
            _wait_for(redis.Redis.from_url(url))
            yield url
        finally:
            server.terminate()
            server.wait()


def _wait_for(client: Any) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            client.ping()
        except redis.ConnectionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return
