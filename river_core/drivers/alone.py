"""Adopts a caller's connection where there is no driver: what it is tells which database it is on."""

from __future__ import annotations

from typing import Any

from river_core.db.statement import Dialect, Sql
from river_core.drivers.base import Connection, type_name
from river_core.drivers.borrowed import POSTGRES, SQLITE, library_of, recognised
from river_core.errors import AmbientTransactionError

_DIALECTS = {POSTGRES: Dialect.POSTGRES, SQLITE: Dialect.SQLITE}


def adopt_alone(raw: Any, schema: str = "") -> tuple[Connection, Sql]:
    """Adopt a connection of psycopg, sqlite3, SQLAlchemy or Django, with the statements for its database.

    River's tables are those that the connection itself finds, or those of `schema`. Raises
    AmbientTransactionError for any other object and as a driver's `adopt` does.
    """
    root = library_of(raw, "psycopg", "sqlite3", "sqlalchemy", "django")
    if root == "psycopg":
        return _psycopg(raw), Sql(Dialect.POSTGRES, schema)
    if root == "sqlite3":
        sql = Sql(Dialect.SQLITE, schema)
        return _sqlite(raw, sql), sql
    borrowed = recognised(raw)
    if borrowed is None or borrowed.vendor not in _DIALECTS:
        raise _refused(raw)
    return borrowed, Sql(_DIALECTS[borrowed.vendor], schema)


def _psycopg(raw: Any) -> Connection:
    import psycopg  # only the library in use is imported

    from river_core.drivers.psycopg_adopted import AdoptedConnection, check_usable

    if not isinstance(raw, psycopg.Connection):
        raise _refused(raw)
    check_usable(raw)
    return AdoptedConnection(raw)


def _sqlite(raw: Any, sql: Sql) -> Connection:
    import sqlite3  # only the library in use is imported

    from river_core.drivers.sqlite_adopted import AdoptedConnection, check_usable

    if not isinstance(raw, sqlite3.Connection):
        raise _refused(raw)
    check_usable(raw)
    return AdoptedConnection(raw, sql)


def _refused(raw: Any) -> AmbientTransactionError:
    return AmbientTransactionError(
        f"{type_name(raw)} is no connection to River's database; give a driver, a client, or a connection of "
        "psycopg, sqlite3, SQLAlchemy or Django"
    )
