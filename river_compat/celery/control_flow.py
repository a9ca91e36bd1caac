"""River's own signals inside Celery code: cancel, snooze and interruption pass every handler."""

from __future__ import annotations

from river_core.decide import outcome_of
from river_core.outcome import Failed


def carries_control_flow(error: BaseException) -> bool:
    """Whether the exception is, causes, or groups a signal of river_core.

    A `TaskGroup` wraps signals into a group, and `raise ... from` hides them behind another error.
    """
    if type(error).__mro__[1] is Exception and error.__cause__ is None:
        return False
    return not isinstance(outcome_of(error), Failed)
