"""Which database a command works on, and the driver for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

import click

from river_compat.cli.invocation import LIBPQ_URL, Invocation, url_from_environment
from river_core.drivers import open_driver
from river_core.drivers.base import Driver

IN_MEMORY_URL = "sqlite://"
_STAND_INS = {"postgres": LIBPQ_URL, "sqlite": IN_MEMORY_URL}


@contextmanager
def open_database(invocation: Invocation) -> Iterator[Driver]:
    """Give the driver for the database that the options, the application or the environment name.

    Raises click's UsageError when nothing names one.
    """
    driver = _named(invocation)
    if driver is None:
        raise click.UsageError(
            "no database was named: give -d postgresql://… or sqlite:///file, or the application with -A, "
            "or set RIVER_DATABASE_URL"
        )
    with closing(driver):
        yield driver


@contextmanager
def open_for_texts(invocation: Invocation, dialect: str | None = None) -> Iterator[tuple[Driver, bool]]:
    """Give a driver whose SQL is read, and whether a database that was named stands behind it.

    With a dialect of its own, or where nothing names a database, no connection may be made.
    """
    driver = None if dialect else _named(invocation)
    named = driver is not None
    if driver is None:
        driver = open_driver(_STAND_INS[dialect or "postgres"], schema=invocation.schema)
    with closing(driver):
        yield driver, named


def _named(invocation: Invocation) -> Driver | None:
    if invocation.app is not None:
        from river_compat.cli.application import application  # loads the adapter, which others do without

        return application(invocation).runtime.driver
    url = invocation.database_url or url_from_environment(os.environ)
    schema = invocation.schema or os.environ.get("RIVER_SCHEMA", "")
    return None if url is None else open_driver(url, schema=schema)
