"""Waiting for results where a task runs: denied, unless it is allowed on purpose."""

from __future__ import annotations

from contextlib import AbstractContextManager

from river_compat.celery import _state


def allow_join_result() -> AbstractContextManager[None]:
    """Allow waiting for results inside a task while the block runs."""
    return _state.join_allowed(True)


def denied_join_result() -> AbstractContextManager[None]:
    """Deny waiting for results while the block runs."""
    return _state.join_allowed(False)


def assert_will_not_block() -> None:
    """Raise RuntimeError inside a running task: waiting there for another one may block the worker."""
    if _state.join_will_block():
        raise RuntimeError(
            "a task must not wait for the result of another one: its worker may never get to run that. Send "
            "a task at the end instead, or use allow_join_result() where another worker is sure to run it"
        )
