"""The two sides: how each is filled, seen to be empty, and worked.

Both have their worker started by their own command, with the same pool and concurrency.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import redis

from benchmarks.compare.tasks import KEPT, Tasks
from benchmarks.messages import rows
from river_core import Client, Migrator, open_driver

BATCH = 5_000
END_SECONDS = 20.0
QUEUE = "celery"
RESULTS = "celery-task-meta-*"


class Side(ABC):
    """What a measurement needs of either side."""

    name: str
    command: Sequence[str]
    app: Any
    tasks: Tasks

    def __init__(self, module: str) -> None:
        """Take the application of a module; what it reads from the environment must be set."""
        found = importlib.import_module(module)
        self.app, self.tasks = found.app, found.tasks

    @contextmanager
    def worker(self, *options: str) -> Iterator[int]:
        """Run a worker; give its process id."""
        command = [sys.executable, "-m", *self.command, "--loglevel", "ERROR", *options]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        try:
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def close(self) -> None:
        """Let go of all connections."""
        self.app.close()

    @abstractmethod
    def clear(self) -> None:
        """Forget all messages and results."""


class Drained(Side):
    """A side whose worker is also timed on a filled queue."""

    @abstractmethod
    def fill(self, first: str, last: str, task: Any, count: int) -> None:
        """Let `count` calls of a task wait, between two marks in files of these names."""

    @abstractmethod
    def is_done(self, results: str, count: int) -> bool:
        """Tell whether nothing waits or runs and all results are written."""


class Ours(Drained):
    """River on Postgres."""

    name = "ours"
    command = ("river_compat", "-A", "benchmarks.compare.ours", "worker")

    def __init__(self, url: str) -> None:
        """Take the database, which gets River's schema."""
        os.environ["RIVER_DATABASE_URL"] = url
        super().__init__("benchmarks.compare.ours")
        self._driver = open_driver(url)
        Migrator(self._driver).migrate_up()
        self.connection = psycopg.connect(url, autocommit=True)

    def close(self) -> None:
        """Let go of all connections."""
        super().close()
        self.connection.close()
        self._driver.close()

    def clear(self) -> None:
        """Empty the table, and have the server write what it owes the disk."""
        self.connection.execute("TRUNCATE river_job")
        self.connection.execute("VACUUM ANALYZE river_job")
        self.connection.execute("CHECKPOINT")

    def fill(self, first: str, last: str, task: Any, count: int) -> None:
        """Insert what `delay()` would insert."""
        client = Client(self._driver)
        client.insert_params(rows(self.app, self.tasks.mark, 1, [first]))
        for start in range(0, count, BATCH):
            client.insert_params(rows(self.app, task, min(BATCH, count - start)))
        client.insert_params(rows(self.app, self.tasks.mark, 1, [last]))
        self.connection.execute("VACUUM ANALYZE river_job")

    def is_done(self, results: str, count: int) -> bool:
        """Look at the states: the result is in the row."""
        waiting = "SELECT NOT EXISTS (SELECT 1 FROM river_job WHERE state IN ('available', 'running'))"
        [done] = self.connection.execute(waiting).fetchone() or ()
        return bool(done)


class Relaxed(Side):
    """River on Postgres with both opt-ins: neither inserts nor claims wait for the disk."""

    name = "ours, opt-ins"
    command = ("river_compat", "-A", "benchmarks.compare.relaxed", "worker")

    def __init__(self, ours: Ours) -> None:
        """Take the database of the durable side, in queues of its own."""
        super().__init__("benchmarks.compare.relaxed")
        self._ours = ours

    def clear(self) -> None:
        """Empty the table that both share."""
        self._ours.clear()


class Theirs(Drained):
    """Celery on Redis."""

    name = "celery"
    command = (
        *("celery", "-A", "benchmarks.compare.theirs", "worker"),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    )

    def __init__(self, url: str) -> None:
        """Take the Redis."""
        os.environ["COMPARE_REDIS_URL"] = url
        super().__init__("benchmarks.compare.theirs")
        self._redis = redis.Redis.from_url(url)

    def clear(self) -> None:
        """Empty the Redis."""
        self._redis.flushdb()

    def fill(self, first: str, last: str, task: Any, count: int) -> None:
        """Push copies of the message that Celery itself sends."""
        self.tasks.mark.delay(first)
        self._copy(task, count)
        self.tasks.mark.delay(last)

    def _copy(self, task: Any, count: int) -> None:
        task.delay()
        message = json.loads(self._redis.lpop(QUEUE))  # type: ignore[arg-type]
        for start in range(0, count, BATCH):
            copies = [_renamed(message) for _ in range(min(BATCH, count - start))]
            self._redis.lpush(QUEUE, *copies)

    def is_done(self, results: str, count: int) -> bool:
        """Look at the queue, at what is not acknowledged, and at the results."""
        if self._redis.llen(QUEUE) or self._redis.hlen("unacked"):
            return False
        return results != KEPT or sum(1 for _ in self._redis.scan_iter(RESULTS, count=10_000)) >= count


def _renamed(message: dict[str, Any]) -> str:
    """Return a message under another task id."""
    task_id = str(uuid.uuid4())
    headers = {**message["headers"], "id": task_id, "root_id": task_id}
    properties = {
        **message["properties"],
        "correlation_id": task_id,
        "delivery_tag": str(uuid.uuid4()),
    }
    return json.dumps({**message, "headers": headers, "properties": properties})
