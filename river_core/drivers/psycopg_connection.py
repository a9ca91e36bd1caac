"""A connection of our own pool, and how statements run on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from river_core.db.statement import Statement
from river_core.drivers.base import Row
from river_core.drivers.copying import copy_in
from river_core.drivers.psycopg_errors import query, wrapped
from river_core.drivers.psycopg_prepared import PreparedStatements
from river_core.drivers.psycopg_session import OwnSession, run_again, was_rolled_back
from river_core.errors import OperationalError


class OwnConnection:
    """A connection of our pool, in autocommit mode; statements that run often are prepared."""

    copies = True

    def __init__(self, raw: OwnSession) -> None:
        """Wrap an open connection."""
        self.raw = raw
        self._prepared: PreparedStatements | None = None

    def start_preparing(self) -> None:
        """Prepare what runs often, unless a pooler may change the session between transactions."""
        if self.raw.prepare_threshold is not None:
            self._prepared = PreparedStatements(self.raw)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self.raw.pgconn.transaction_status != TransactionStatus.IDLE

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows.

        On its own it runs again, a few times, where the server undid it because of another transaction.
        """
        if self.raw.begins_itself and statement.transactional and not self.in_transaction:
            return run_again(lambda: self._fetch_in_transaction(statement))
        try:
            return self._fetch(statement)
        except OperationalError as error:
            if self.in_transaction or not was_rolled_back(error):
                raise
        return run_again(lambda: self._fetch(statement))

    def _fetch_in_transaction(self, statement: Statement) -> list[Row]:
        with self.transaction():
            return self._fetch(statement)

    def _fetch(self, statement: Statement) -> list[Row]:
        try:
            if statement.data is not None:
                copy_in(self.raw.cursor(), statement.sql, statement.data)
                return []
            prepared = self._prepared
            if prepared is not None:
                if prepared.takes(statement):
                    return prepared.fetch(statement)
                if not statement.transactional:
                    prepared.forget()
            cursor = self.raw.execute(query(statement.sql), statement.parameters, prepare=False)
            result = cursor.pgresult
            return cursor.fetchall() if result is not None and result.nfields else []
        except (psycopg.Error, UnicodeError) as error:
            raise wrapped(error, self.raw) from error

    @property
    def overlaps(self) -> bool:
        """Whether `fetch_each` can be used; a pooler between may not know pipelines."""
        return psycopg.Pipeline.is_supported() and self.raw.prepare_threshold is not None

    def fetch_each(self, statements: Iterable[Statement]) -> list[list[Row]]:
        """Run statements in one transaction, and return the rows of each.

        The next one is taken from the iterable while the server works at those before; what that raises, or
        an error of the database, undoes all.
        """
        try:
            with self.raw.pipeline(), self.raw.transaction():
                cursors = [self._send(statement) for statement in statements]
            return [cursor.fetchall() for cursor in cursors]
        except psycopg.Error as error:
            raise wrapped(error, self.raw) from error

    def _send(self, statement: Statement) -> psycopg.Cursor[Any]:
        try:
            return self.raw.execute(query(statement.sql), statement.parameters, prepare=True)
        except UnicodeError as error:
            raise wrapped(error, self.raw) from error

    def run_script(self, sql: str) -> None:
        """Run several statements that take no parameters."""
        try:
            self.raw.execute(sql.encode())
        except psycopg.Error as error:
            raise wrapped(error, self.raw) from error
        finally:
            if self._prepared is not None:
                self._prepared.forget()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit at the end of the block, roll back on an exception; an inner block joins the outer one."""
        if self.in_transaction:
            yield
            return
        try:
            with self.raw.transaction():
                yield
        except psycopg.Error as error:
            raise wrapped(error, self.raw) from error
