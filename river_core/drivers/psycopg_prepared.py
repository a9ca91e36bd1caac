"""Runs statements that a session of ours has prepared, without a cursor.

A cursor is made for one statement, reads its text and looks for it among the prepared ones, which takes
longer than all else that a client does for one row. What is sent and what comes back is as with a cursor:
psycopg adapts the values both ways, and waits, so that Ctrl-C or a time limit cancels the statement in the
server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus, TransactionStatus

from river_core.db.statement import Statement, as_numbered, parameter_names
from river_core.drivers.base import Row

THRESHOLD = 5
"""Runs by a cursor before a statement is prepared, as in psycopg: most sessions run most of them once."""
OVER = (psycopg.errors.FeatureNotSupported, psycopg.errors.InvalidSqlStatementName)
"""For a column of another type by now ("cached plan must not change result type"), and after DISCARD ALL."""
MOST = 100
"""Statements that a session prepares; what comes later goes by a cursor."""


class PreparedStatements:
    """Those of one session. Used by whoever has the session on loan."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        """Take an open connection in autocommit mode, whose time zone is set."""
        self._raw = raw
        self._pgconn = raw.pgconn
        self._transformer = Transformer(raw)
        self._runs: dict[str, int] = {}
        self._names: dict[tuple[str, Sequence[int]], bytes] = {}
        self._made = 0

    def takes(self, statement: Statement) -> bool:
        """Tell whether `fetch` is to run a statement; counts the runs."""
        if not (statement.prepared and statement.transactional):
            return False
        runs = self._runs.get(statement.sql, 0)
        if runs >= THRESHOLD:
            return True
        if len(self._runs) >= MOST and not runs:
            self._runs = {sql: count for sql, count in self._runs.items() if count >= THRESHOLD}
        if runs or len(self._runs) < MOST:
            self._runs[statement.sql] = runs + 1
        return False

    def forget(self) -> None:
        """Prepare all anew: for after a change of tables, at which psycopg drops what is prepared."""
        self._names.clear()

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows; raises psycopg's errors.

        What others have done to the tables or the session can end what is prepared, for good: then all is
        prepared anew. Inside a transaction, which is lost, from the next one on.
        """
        try:
            return self._fetch(statement)
        except OVER:
            self.forget()
            if self._pgconn.transaction_status != TransactionStatus.IDLE:
                raise
        return self._fetch(statement)

    def _fetch(self, statement: Statement) -> list[Row]:
        values = [statement.parameters[name] for name in parameter_names(statement.sql)]
        adapt = self._transformer
        sent = adapt.dump_sequence(values, [PyFormat.AUTO] * len(values))
        name = self._names.get((statement.sql, adapt.types or ())) or self._prepare(statement.sql)
        self._pgconn.send_query_prepared(name, sent, adapt.formats)
        result = self._answer()
        if result.status != ExecStatus.TUPLES_OK:
            return []
        adapt.set_pgresult(result)
        try:
            return adapt.load_rows(0, result.ntuples, tuple)
        finally:
            adapt.set_pgresult(None)

    def _prepare(self, sql: str) -> bytes:
        """Prepare a statement for values of the types that were dumped last."""
        types = self._transformer.types or ()
        name = f"river_{self._made}".encode()
        self._made += 1
        self._pgconn.send_prepare(name, as_numbered(sql).encode(), types)
        self._answer()
        self._names[sql, types] = name
        return name

    def _answer(self) -> Any:
        [result] = self._raw.wait(execute(self._pgconn))
        if result.status == ExecStatus.FATAL_ERROR:
            raise error_from_result(result)
        return result
