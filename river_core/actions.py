"""What a client does with stored rows, as values: written once, run by blocking clients and by awaited ones.

An operation is a generator of statements (`river_core.steps`); calling it with a user's arguments gives an
action, which `river_core.access` and `river_core.access_awaited` run where the call is to take place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Concatenate, Generic, ParamSpec, TypeVar

from river_core.clock import Clock, given_time
from river_core.db.statement import Sql
from river_core.parity import Parity
from river_core.steps import Steps

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """What statements are made from. The database's clock counts, unless a test set one."""

    sql: Sql
    clock: Clock
    parity: Parity = Parity.PYTHON

    @property
    def now(self) -> datetime | None:
        """The time of a clock that a test set; None lets the database say what time it is."""
        return given_time(self.clock)


@dataclass(frozen=True, slots=True)
class Action(Generic[T]):
    """An operation with its arguments, to be run on some connection."""

    steps: Callable[[Setting], Steps[T]]
    in_transaction: bool
    """Whether its statements must be one transaction."""


Operation = Callable[Concatenate[Setting, P], Steps[T]]


def one_statement(operation: Operation[P, T]) -> Callable[P, Action[T]]:
    """Make actions of an operation that commits by itself."""
    return _maker(operation, in_transaction=False)


def one_transaction(operation: Operation[P, T]) -> Callable[P, Action[T]]:
    """Make actions of an operation whose statements stand or fall together."""
    return _maker(operation, in_transaction=True)


def _maker(operation: Operation[P, T], in_transaction: bool) -> Callable[P, Action[T]]:
    def make(*args: P.args, **kwargs: P.kwargs) -> Action[T]:
        return Action(lambda setting: operation(setting, *args, **kwargs), in_transaction)

    make.__doc__ = operation.__doc__
    return make
