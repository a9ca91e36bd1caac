"""Statements by which Python clients see each other live and take over what a dead one left.

The lock of a client is `pg_advisory_lock_shared(LOCK_CLASS, key)`, its key the first 32 bits of
md5 over `<schema> <client id>`. SQLite's locks are files (`river_core.worker.lock_file`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from river_core.db.statement import Sql, Statement
from river_core.job import rfc3339

LOCK_CLASS = 0x52495650
"""The first key of every client's advisory lock: "RIVP" as an integer."""

WORKER_LOST_PREFIX = "Worker lost: client "
"""How the error of an attempt begins whose client died."""


def client_lock_hold(sql: Sql, client_id: str) -> Statement:
    """Take the client's lock for this session; returns the session's process id (Postgres only)."""
    return sql.statement(
        "client_lock_hold", client_id=client_id, schema=sql.schema or None, lock_class=LOCK_CLASS
    )


def client_lock_session(sql: Sql) -> Statement:
    """Ask for the process id of the session that answers (Postgres only)."""
    return sql.statement("client_lock_session")


def session_database_list(sql: Sql) -> Statement:
    """List the files behind a connection: number, name, path (SQLite only)."""
    return sql.statement("session_database_list")


def client_list_running(sql: Sql, client_id: str, marker: str) -> Statement:
    """List other clients with running rows: id, whether the lock is held, age of the server in seconds."""
    return sql.statement(
        "client_list_running",
        client_id=client_id,
        marker=marker,
        schema=sql.schema or None,
        lock_class=LOCK_CLASS,
    )


def job_recover(
    sql: Sql,
    clients: Iterable[str],
    at: datetime,
    limit: int,
    after: int = 0,
    max_crashes: int = 25,
    now: datetime | None = None,
) -> Statement:
    """Give running rows of dead `clients` back; returns id, queue and state. `at` goes into their errors."""
    return sql.statement(
        "job_recover",
        clients=json.dumps(list(clients)),
        at=rfc3339(at),
        limit=limit,
        after=after,
        max_crashes=max_crashes,
        now=sql.time(now),
        schema=sql.schema or None,
        lock_class=LOCK_CLASS,
    )


def job_refresh_attempts(
    sql: Sql, client_id: str, ids: Iterable[int], horizon: datetime, now: datetime | None = None
) -> Statement:
    """Move attempted_at of this client's running jobs `ids` that were claimed before `horizon`."""
    return sql.statement(
        "job_refresh_attempts",
        client_id=client_id,
        ids=json.dumps(list(ids)),
        horizon=sql.time(horizon),
        now=sql.time(now),
    )
