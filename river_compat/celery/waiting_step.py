"""Steps of a workflow that waited: what they take from the steps before, and how they end without them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from river_compat.celery.exceptions import ChordError, TaskRevokedError
from river_compat.celery.request import read_headers
from river_compat.envelope import TaskCall
from river_compat.feeding import BROKEN_BY, CAUSE, REASON, part_values
from river_compat.python_task import failure
from river_compat.results import EXCEPTION, OUTCOME, TaskOutcome
from river_core.job import JobRow
from river_core.links import MEMBERS, Break
from river_core.outcome import Failed

TAKES = "takes"
"""Header of a waiting step: whether it takes `one` result or the `list` of all; absent for neither."""
ONE = "one"
LIST = "list"


def takes(call: TaskCall) -> str | None:
    """Return what a step is called with, besides its own arguments."""
    if f'"{TAKES}"' not in call.headers:
        return None
    found: str | None = read_headers(call.headers).get(TAKES)
    return found


def arguments(args: Any, call: TaskCall, row: JobRow, accept: Collection[str]) -> Any:
    """Return the arguments with the results of the steps before put in front, where the step takes them.

    Raises kombu's ContentDisallowed or DecodeError.
    """
    if MEMBERS not in row.encoded_metadata:
        return args
    wanted = takes(call)
    if wanted is None:
        return args
    values = part_values(row, accept)
    return [values, *args] if wanted == LIST else [*values[:1], *args]


def broken(call: TaskCall, cause: Break) -> Failed:
    """Return how a step ends whose member will never bring its part.

    A chord's body fails with ChordError, a chain's step with the exception of the step before. Nothing is
    rebuilt here: a class of the application must not run inside the completer's transaction.
    """
    facts = cause.cause
    if takes(call) == LIST:
        return failure(ChordError(f"Dependency {facts.get(BROKEN_BY)} raised {_shown(facts)}"), trace="")
    reason = str(facts.get(REASON, ""))
    if CAUSE not in facts:
        return failure(TaskRevokedError(reason), trace="")
    metadata = {OUTCOME: TaskOutcome.FAILED.value, EXCEPTION: facts[CAUSE]}
    return Failed(RuntimeError(reason), metadata, retry=False, error_text=reason, trace="")


def _shown(facts: Mapping[str, Any]) -> str:
    """Return the exception of a cause as its repr would be."""
    stored = facts.get(CAUSE)
    if not isinstance(stored, Mapping):
        return f"TaskRevokedError({str(facts.get(REASON, ''))!r})"
    message = stored.get("exc_message")
    arguments = message if isinstance(message, list) else [message]
    return f"{stored.get('exc_type')}({', '.join(map(repr, arguments))})"
