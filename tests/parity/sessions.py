"""The three backends, ready to run cases: databases made and migrated, and removed at the end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from river_core.drivers import open_driver
from tests.databases import migrate, postgres_problems, session_database, sqlite_problems
from tests.parity.backends import Backend, ours, reference
from tests.parity.running import Run

OURS = ("postgres", "sqlite")


@contextmanager
def backends(redis_url: str, postgres_server_url: str) -> Iterator[Mapping[str, Backend]]:
    """Give the reference and ours by name; the rows that ours left must keep to the protocol."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="river-parity-")))
        database = stack.enter_context(session_database(postgres_server_url))
        file = directory / "parity.sqlite3"
        urls = {"postgres": database.url, "sqlite": f"sqlite:///{file}"}
        for url in urls.values():
            with closing(open_driver(url)) as driver:
                migrate(driver)
        yield {"celery": reference(redis_url), **{name: ours(name, url) for name, url in urls.items()}}
        problems = postgres_problems(database.connection, "public") + sqlite_problems(file)
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
