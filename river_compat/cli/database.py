"""Which database a command works on, and the driver for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

import click

from river_compat.cli.invocation import LIBPQ_URL, Invocation, url_from_environment
from river_compat.cli.place import Place, place_of
from river_core.drivers import open_driver
from river_core.drivers.base import Driver

IN_MEMORY_URL = "sqlite://"
_STAND_INS = {"postgres": LIBPQ_URL, "sqlite": IN_MEMORY_URL}


@contextmanager
def open_database(invocation: Invocation) -> Iterator[Driver]:
    """Give the driver for the database that the options, the application or the environment name.

    A SQLite file that does not exist is created at the first use. Raises click's UsageError when nothing
    names a database.
    """
    driver, _ = _required(invocation)
    with closing(driver):
        yield driver


@contextmanager
def open_existing(invocation: Invocation) -> Iterator[Driver]:
    """Give the same driver for a command that creates nothing.

    Raises OperationalError for a SQLite file that does not exist, instead of leaving an empty one.
    """
    driver, place = _required(invocation)
    with closing(driver):
        place.check_exists()
        yield driver


@contextmanager
def open_for_dry_run(invocation: Invocation) -> Iterator[Driver]:
    """Give the same driver; an empty database in memory stands in for a SQLite file that does not exist."""
    driver, place = _required(invocation)
    if place.is_missing:
        driver.close()
        driver = open_driver(IN_MEMORY_URL)
    with closing(driver):
        yield driver


@contextmanager
def open_for_texts(
    invocation: Invocation, dialect: str | None = None
) -> Iterator[tuple[Driver, Place | None]]:
    """Give a driver whose SQL is read, and the place of the database where one was named.

    With a dialect of its own, or where nothing names a database, no connection may be made.
    """
    named = None if dialect else _named(invocation)
    if named is None:
        driver = open_driver(_STAND_INS[dialect or "postgres"], schema=invocation.schema)
        place = None
    else:
        driver, place = named
    with closing(driver):
        yield driver, place


def _required(invocation: Invocation) -> tuple[Driver, Place]:
    named = _named(invocation)
    if named is None:
        raise click.UsageError(
            "no database was named: give -d postgresql://… or sqlite:///file, or the application with -A, "
            "or set RIVER_DATABASE_URL"
        )
    return named


def _named(invocation: Invocation) -> tuple[Driver, Place] | None:
    if invocation.app is not None:
        # loads the adapter, which others do without
        from river_compat.cli.application import application, place_of_application

        app = application(invocation)
        return app.runtime.driver, place_of_application(app)
    url = invocation.database_url or url_from_environment(os.environ)
    schema = invocation.schema or os.environ.get("RIVER_SCHEMA", "")
    return None if url is None else (open_driver(url, schema=schema), place_of(url))
