"""Drivers: one file per database library, all with the interface of `river_core.drivers.base`."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from river_core.drivers.base import AwaitedDriver, Driver
from river_core.errors import ConfigurationError

POSTGRES_SCHEMES = frozenset({"postgres", "postgresql"})
BROKER_SCHEMES = frozenset({"redis", "rediss", "amqp", "amqps", "pyamqp", "sqs", "memory", "filesystem"})
IN_MEMORY = ":memory:"


def open_driver(url: str, *, schema: str = "", listen_url: str | None = None) -> Driver:
    """Return the driver for a database URL; nothing connects yet.

    Takes `postgresql://user@host/name`, `postgres://…`, `sqlite:///relative.db`, `sqlite:////absolute.db` and
    `sqlite://` (in memory). Where a Postgres URL leads to a pooler, `listen_url` leads past it, for the one
    connection that listens. Raises ConfigurationError for anything else.
    """
    scheme = urlsplit(url).scheme
    if scheme in POSTGRES_SCHEMES:
        from river_core.drivers.psycopg import PsycopgDriver  # only the driver in use is imported

        return PsycopgDriver(url, schema=schema, listen_url=listen_url)
    if scheme == "sqlite":
        from river_core.drivers.sqlite import SqliteDriver  # only the driver in use is imported

        return SqliteDriver(_sqlite_path(url, schema))
    raise ConfigurationError(_refusal(url, scheme))


def open_async_driver(url: str, *, schema: str = "") -> AwaitedDriver:
    """Return the driver for coroutines for a database URL; nothing connects yet.

    Takes and refuses what `open_driver` does. On SQLite the statements run in a few threads.
    """
    scheme = urlsplit(url).scheme
    if scheme in POSTGRES_SCHEMES:
        from river_core.drivers.psycopg_async import PsycopgAsyncDriver  # only the driver in use is imported

        return PsycopgAsyncDriver(url, schema=schema)
    if scheme == "sqlite":
        from river_core.drivers.sqlite_awaited import SqliteAsyncDriver  # only the driver in use is imported

        return SqliteAsyncDriver(_sqlite_path(url, schema))
    raise ConfigurationError(_refusal(url, scheme))


def _sqlite_path(url: str, schema: str) -> str:
    parts = urlsplit(url)
    if schema:
        raise ConfigurationError(f"schema {schema!r} cannot be used on SQLite; leave it out")
    if parts.netloc or parts.query or parts.fragment:
        raise ConfigurationError(
            f"{url!r} must have three slashes before a relative path and four before an absolute one, and no "
            "options: sqlite:///river.db or sqlite:////var/lib/river.db"
        )
    return unquote(parts.path[1:]) or IN_MEMORY


def _refusal(url: str, scheme: str) -> str:
    if scheme in BROKER_SCHEMES:
        return (
            f"{scheme}:// is a message broker; River keeps jobs in a database. Give a postgresql:// or "
            "sqlite:/// URL, for example in RIVER_DATABASE_URL"
        )
    plain = scheme.partition("+")[0]
    if plain in POSTGRES_SCHEMES or plain == "sqlite":
        return f"{scheme}:// is SQLAlchemy's spelling; write {plain}:// instead"
    shown = f"scheme {scheme!r}" if scheme else f"{_shown(url)}, which has no scheme,"
    return f"the {shown} is not a database of River; use postgresql://, postgres:// or sqlite:///"


def _shown(url: str) -> str:
    """Return the text as it may be shown: one that may hold a password is not repeated."""
    secret = "@" in url or "password" in url.lower()
    return "text that was given" if secret else f"text {url!r}"
