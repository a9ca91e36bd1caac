"""From what a test has at hand to a connection: a driver, a client, or the connection of its transaction."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from river_core.access import Access
from river_core.clock import SystemClock
from river_core.db.statement import Sql
from river_core.drivers.alone import adopt_alone
from river_core.drivers.base import Connection, Driver, type_name
from river_core.errors import AmbientTransactionError, ConfigurationError


@dataclass(frozen=True, slots=True)
class Reach:
    """A connection, the statements for it, and how to call it in a message."""

    connection: Connection
    sql: Sql
    name: str


@contextmanager
def reach(where: Any, schema: str = "") -> Iterator[Reach]:
    """Lend a connection of a driver, of the driver of a client or worker, or adopt a connection.

    A driver's is the joined or watched one where there is one. Raises AmbientTransactionError for
    another object, ConfigurationError for a schema that cannot be.
    """
    driver = as_driver(where)
    if driver is None:
        connection, sql = adopt_alone(where, schema)
        yield Reach(connection, sql, f"the transaction of {type_name(where)}")
        return
    with Access(driver, SystemClock()).connection() as connection:
        sql = Sql(driver.sql.dialect, schema) if schema else driver.sql
        open_one = connection.in_transaction
        name = (
            f"the open transaction of {type_name(driver)}"
            if open_one
            else f"what is committed in {type_name(driver)}"
        )
        yield Reach(connection, sql, name)


def as_driver(where: Any) -> Driver | None:
    """Return a driver, or that of a client or worker; None for anything else."""
    found: Any = where if _is_driver(where) else getattr(where, "driver", None)
    if not _is_driver(found):
        return None
    if inspect.iscoroutinefunction(type(found).adopt):
        raise AmbientTransactionError(
            f"{type_name(found)} is awaited, and test helpers are not; give a driver of open_driver, or a "
            "connection"
        )
    driver: Driver = found
    return driver


def required_driver(where: Any) -> Driver:
    """Return a driver as `as_driver`; raises ConfigurationError where there is none."""
    driver = as_driver(where)
    if driver is None:
        raise ConfigurationError(f"a test worker takes a driver or a client, not {type_name(where)}")
    return driver


def _is_driver(candidate: Any) -> bool:
    names = ("sql", "adopt", "ambient", "connect")
    return all(hasattr(type(candidate), name) for name in names)
