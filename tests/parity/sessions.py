"""The three backends, ready to run cases: databases made and migrated, and removed at the end."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from river_core.drivers import open_driver
from tests.databases import migrate, postgres_problems, session_database, sqlite_problems
from tests.parity.backends import Backend, ours, reference
from tests.parity.running import Run
from tests.redis_server import find_redis

OURS = ("postgres", "sqlite")


UNREACHABLE = {
    "postgres": "postgresql://127.0.0.1:9/nobody",
    "sqlite": "sqlite:////nonexistent/directory/nobody.sqlite3",
}


@contextmanager
def backends(redis_url: str, postgres_server_url: str) -> Iterator[Mapping[str, Backend]]:
    """Give the reference and ours by name; the rows that ours left must keep to the protocol.

    Each has two databases: that of all cases, and one for the processes that a case starts alone.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="river-parity-")))
        postgres = [stack.enter_context(session_database(postgres_server_url)) for _ in range(2)]
        files = [directory / "parity.sqlite3", directory / "own.sqlite3"]
        urls = {
            "postgres": [database.url for database in postgres],
            "sqlite": [f"sqlite:///{file}" for file in files],
        }
        for url in itertools.chain.from_iterable(urls.values()):
            with closing(open_driver(url)) as driver:
                migrate(driver)
        made = {name: ours(name, *pair, UNREACHABLE[name]) for name, pair in urls.items()}
        yield {"celery": reference(redis_url, stack.enter_context(find_redis())), **made}
        problems = [
            each for database in postgres for each in postgres_problems(database.connection, "public")
        ]
        problems += [each for file in files for each in sqlite_problems(file)]
        assert not problems, "\n".join(problems)


@contextmanager
def runs(found: Mapping[str, Backend], cases: list[str]) -> Iterator[Mapping[str, Run]]:
    """Run the cases on every backend at the same time, each in a directory of its own."""
    with ExitStack() as stack:
        started = {}
        for name, backend in found.items():
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"river-parity-{name}-")))
            started[name] = Run(backend, directory)
            started[name].start(cases)
            stack.callback(started[name].stop)
        yield started
