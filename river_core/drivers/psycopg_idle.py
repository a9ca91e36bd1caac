"""Whether a connection that was not used for a while may be lent again."""

from __future__ import annotations

import select

import psycopg
from psycopg.pq import TransactionStatus

from river_core.drivers.psycopg_connection import OwnConnection
from river_core.drivers.psycopg_session import OwnAwaitedSession

CHECK_WHEN_IDLE_FOR = 30.0
"""Seconds after which an idle connection is asked whether it still answers before it is used."""
IDLE = TransactionStatus.IDLE


def is_usable(check_when_idle_for: float, connection: OwnConnection, idle_seconds: float | None) -> bool:
    """Tell whether a connection may be lent: idle, and nothing unread, as a server's farewell is.

    One that comes back, without idle seconds, is looked at more closely before it is lent again.
    """
    pgconn = connection.raw.pgconn
    if pgconn.transaction_status != IDLE:  # that of a closed one is another, too
        return False
    if idle_seconds is None:
        return True
    if idle_seconds < check_when_idle_for and not _has_unread(pgconn.socket):
        return True
    try:
        connection.raw.execute(b"")
    except psycopg.Error:
        return False
    return True


async def answers(raw: OwnAwaitedSession, idle_seconds: float) -> bool:
    """Tell whether a connection may be lent; one that was idle for long, or has unread input, is asked."""
    if raw.closed:
        return False
    if idle_seconds < CHECK_WHEN_IDLE_FOR and not _has_unread(raw.fileno()):
        return True
    try:
        await raw.execute(b"")
    except psycopg.Error:
        return False
    return True


def _has_unread(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
