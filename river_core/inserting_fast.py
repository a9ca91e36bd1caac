"""The fast way to write many checked rows: COPY where the connection can, else one plain statement.

Neither looks at unique keys first, so one that is taken fails the whole call.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from river_core.db import job_copies, job_inserts, notifications
from river_core.db.statement import Dialect, Sql
from river_core.drivers.base import Connection
from river_core.errors import RejectedValueError, UniqueConflictError
from river_core.insert import InsertParams
from river_core.inserting import is_relaxed, refuse_repeated_keys
from river_core.steps import Steps, run

UNIQUE_VIOLATION = "23505"
UNIQUE_ON_SQLITE = "UNIQUE constraint failed"


def insert_many_fast(
    connection: Connection, sql: Sql, rows: Sequence[InsertParams], notify_queues: Collection[str]
) -> None:
    """Insert rows and notify `notify_queues`, in the open transaction or in one of its own.

    Raises UniqueConflictError when another job holds the unique key of one of them, and as
    `inserting.insert_many` does; then none of the rows is written.
    """
    with connection.transaction():
        run(connection, insert_fast_steps(sql, rows, notify_queues, connection.copies))


def insert_fast_steps(
    sql: Sql, rows: Sequence[InsertParams], notify_queues: Collection[str], copies: bool
) -> Steps[None]:
    """Give the statements of `insert_many_fast`, which must run in one transaction."""
    refuse_repeated_keys(rows)
    try:
        yield from _write(sql, rows, notify_queues, copies)
    except RejectedValueError as error:
        if error.sqlstate == UNIQUE_VIOLATION or UNIQUE_ON_SQLITE in str(error):
            raise UniqueConflictError from error
        raise


def _write(
    sql: Sql, rows: Sequence[InsertParams], notify_queues: Collection[str], copies: bool
) -> Steps[None]:
    payloads = [notifications.insert_payload(queue) for queue in notify_queues]
    nonces = [job_inserts.fresh_nonce() for _ in rows] if sql.tells_by_nonce else []
    if copies:
        if is_relaxed(sql):
            yield sql.statement("session_commit_relaxed")
        for statement in job_copies.job_copies(sql, rows, nonces):  # noqa: UP028 - a list cannot be sent rows
            yield statement
    else:
        yield job_inserts.job_insert_many_plain(sql, rows, nonces, payloads)
    if payloads and (copies or sql.dialect is Dialect.SQLITE):
        yield notifications.notify_many(sql, notifications.TOPIC_INSERT, payloads)
