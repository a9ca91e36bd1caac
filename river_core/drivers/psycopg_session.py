"""What a new connection of ours asks the server once, and how statements are run because of the answers.

Behind a pooler that changes the server's session between transactions nothing may be prepared. Where
the database's default is not READ COMMITTED, a statement on its own gets a transaction that is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psycopg
from tenacity import AsyncRetrying, Retrying, retry_if_exception, stop_after_attempt, wait_random

from river_core.drivers.base import Row
from river_core.errors import OperationalError

T = TypeVar("T")

ROLLED_BACK = frozenset({"40001", "40P01"})
"""The server undid a statement because of another transaction: it did nothing wrong and may run again."""
TRIES = 5
MAX_PAUSE_SECONDS = 0.1


class OwnSession(psycopg.Connection[Any]):
    """A psycopg connection that we opened ourselves."""

    begins_itself = False
    """Whether a statement on its own needs a transaction, since the default is not READ COMMITTED."""


class OwnAwaitedSession(psycopg.AsyncConnection[Any]):
    """The same for coroutines."""

    begins_itself = False


def take_facts(raw: OwnSession | OwnAwaitedSession, facts: Row) -> None:
    """Act on what `session_facts` answered on a new connection.

    The process that answers is the one that greeted us, unless a pooler stands between.
    """
    process, read_committed = facts
    if process != raw.info.backend_pid:
        raw.prepare_threshold = None
    raw.begins_itself = not read_committed


def was_rolled_back(error: BaseException) -> bool:
    """Tell whether a statement failed only because of another transaction."""
    return isinstance(error, OperationalError) and error.sqlstate in ROLLED_BACK


def run_again(run: Callable[[], T]) -> T:
    """Run a statement that was rolled back again, a few times; raises what the last try raised."""
    return Retrying(**_RULES)(run)


async def run_awaited_again(run: Callable[[], Awaitable[T]]) -> T:
    """The same for coroutines."""
    return await AsyncRetrying(**_RULES)(run)


_RULES: dict[str, Any] = {
    "stop": stop_after_attempt(TRIES),
    "wait": wait_random(0, MAX_PAUSE_SECONDS),
    "retry": retry_if_exception(was_rolled_back),
    "reraise": True,
}
