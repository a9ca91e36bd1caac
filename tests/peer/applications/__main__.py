"""Run the tasks of a public application with `river_compat` in the place of Celery, and with Celery.

    python -m tests.peer.applications PROFILE --source CHECKOUT --python VENV/bin/python [--celery]

PROFILE is a name or path of a TOML file (`profiles/`), CHECKOUT the application as it is published, and the
interpreter one that has its requirements and this package. A Postgres is found or started as by the tests, a
Redis is started. The exit status is 1 when fewer than 80 % of the tasks ran, and, with `--celery`, when an
outcome differs from Celery's for no reason that the profile gives.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import redis
from psycopg import sql

from river_compat.dev_database import find_postgres
from river_core.drivers.psycopg import PsycopgDriver
from tests.databases import migrate, session_database, with_database
from tests.peer.applications.comparing import compare, passed, summary, table
from tests.peer.applications.profile import read_profile
from tests.peer.applications.sides import CheckError, Side
from tests.redis_server import own_redis

PROFILES = Path(__file__).parent / "profiles"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="applications"
    )
    parser.add_argument("profile", help="name of a profile, or the path of one")
    parser.add_argument("--source", type=Path, required=True, help="the application, checked out")
    parser.add_argument("--python", type=Path, required=True, help="the interpreter of its environment")
    parser.add_argument("--celery", action="store_true", help="compare with Celery on Redis")
    parser.add_argument("--only", default="", help="call only tasks whose names contain this")
    parser.add_argument("--json", type=Path, help="write all outcomes to this file")
    parser.add_argument("--logs", type=Path, help="keep what the processes said in this folder")
    return parser.parse_args()


@contextmanager
def _copy(url: str) -> Iterator[str]:
    """Give a copy of a database that nobody is connected to."""
    source = urlsplit(url).path.lstrip("/")
    copy = f"{source}_copy"
    with psycopg.connect(with_database(url, "postgres"), autocommit=True) as server:
        names = sql.Identifier(copy), sql.Identifier(source)
        server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
        try:
            yield with_database(url, copy)
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(names[0]))


def _outcomes(side: Side, only: str) -> dict[str, dict[str, Any]]:
    with redis.Redis.from_url(side.redis_url) as client:
        client.flushall()  # the server is ours alone
    calls = side.calls()
    return side.outcomes({name: values for name, values in calls.items() if only in name})


def _check(arguments: argparse.Namespace, postgres: str, redis_url: str, directory: Path) -> int:
    path = Path(arguments.profile)
    path = path if path.suffix == ".toml" else PROFILES / f"{arguments.profile}.toml"
    profile = read_profile(path)

    def side(name: str, database_url: str) -> Side:
        folder = directory / name
        folder.mkdir(parents=True, exist_ok=True)
        python, source = arguments.python.absolute(), arguments.source.absolute()
        return Side(name, profile, path.absolute(), source, python, database_url, redis_url, folder)

    side("ours", postgres).run("preparing")
    results: dict[str, dict[str, Any]] = {}
    for name in ["ours", *(["celery"] if arguments.celery else [])]:
        with _copy(postgres) as database_url:
            if name == "ours":
                with closing(PsycopgDriver(database_url)) as driver:
                    migrate(driver)
            results[name] = _outcomes(side(name, database_url), arguments.only)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1, sort_keys=True), "utf-8")
    rows = compare(results["ours"], results.get("celery"), profile.differences, profile.volatile)
    sys.stdout.write("\n".join([*table(rows), "", f"{profile.title}: {summary(rows)}", ""]))
    return 0 if passed(rows) else 1


def main() -> int:
    """Run the check; return the exit status."""
    arguments = _arguments()
    with (
        find_postgres() as server,
        _made(server.url) as postgres,
        own_redis() as redis_url,
        tempfile.TemporaryDirectory(prefix="river-applications-") as temporary,
    ):
        try:
            return _check(arguments, postgres, redis_url, arguments.logs or Path(temporary))
        except CheckError as error:
            sys.stderr.write(f"{error}\n")
            return 1


@contextmanager
def _made(server_url: str) -> Iterator[str]:
    """Give a database of our own that can be copied: with no connection of ours left in it."""
    with session_database(server_url) as database:
        database.connection.close()
        yield database.url


if __name__ == "__main__":
    sys.exit(main())
