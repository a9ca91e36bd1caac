"""Steps of a workflow that waited: what they take from the steps before, and how they end without them."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from river_compat.celery.exceptions import ChordError, TaskRevokedError, WorkerLostError
from river_compat.celery.message import Message, row_of
from river_compat.celery.message_headers import read_headers
from river_compat.envelope import TaskCall
from river_compat.feeding import BROKEN_BY, CAUSE, LOST, REASON, TOLD, part_values
from river_compat.python_task import failure
from river_compat.results import EXCEPTION, OUTCOME, TaskOutcome
from river_core import clock
from river_core.insert import InsertParams
from river_core.job import JobRow
from river_core.links import MEMBERS, Break
from river_core.outcome import Failed, FollowUp

TAKES = "takes"
"""Header of a waiting step: whether it takes `one` result or the `list` of all; absent for neither."""
SHAPE = "shape"
"""Header of a step that takes a list with lists in it: how they are nested, as `nested` reads it."""
ENDS_CHORD = "ends_chord"
"""Header of a step that starts a chord's body: it fails with ChordError where the header fails."""
EXPIRES_IN = "expires_in"
"""Header of a waiting step: seconds from when it can run to when it expires."""
ERRBACKS_TASK = "river.call_errbacks"
"""The task that calls the errbacks of a row that never ran."""
CHORD_PARTS_TASK = "river.chord_parts"
"""The task that a chord's body waits for as long as its parts are still being made."""
TELLS = "tells"
"""Header of a step that starts a chord's body: it has errbacks; the id that they hear where not its own."""
FOLLOWS = "follows"
"""Header of a step: the result of what comes after it in a chain, as one of its children."""
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
    if wanted != LIST:
        return [*values[:1], *args]
    if f'"{SHAPE}"' in call.headers:
        values = nested(values, read_headers(call.headers).get(SHAPE) or [])
    return [values, *args]


def nested(values: Iterable[Any], shape: Sequence[Any]) -> list[Any]:
    """Return values as lists in a list: a number in `shape` is so many values, a list one that is a list.

    Below 0 it is so many that are left out.
    What is left over, as of tasks that joined a chord later, follows at the end.
    """
    left = iter(values)
    return [*_filled(left, shape), *left]


def _filled(values: Iterator[Any], shape: Sequence[Any]) -> list[Any]:
    filled: list[Any] = []
    for item in shape:
        if isinstance(item, list):
            filled.append(_filled(values, item))
        elif item < 0:
            list(islice(values, -item))
        else:
            filled.extend(islice(values, item))
    return filled


def broken(call: TaskCall, row: JobRow, cause: Break) -> Failed:
    """Return how a step ends whose member will never bring its part.

    What starts a chord's body fails with ChordError, a chain's step and each task of a body that is a group
    with the exception of the step before; errbacks of a body are told. Nothing is rebuilt here: a class of
    the application must not run inside the completer's transaction.
    """
    facts = cause.cause
    headers = read_headers(call.headers)
    tells = bool(headers.get(TELLS))
    told = [*facts.get(TOLD, (facts.get(BROKEN_BY),)), *((call.id,) if tells else ())]
    ended = _failed(facts, bool(headers.get(ENDS_CHORD)))
    ended = replace(ended, metadata={**ended.metadata, TOLD: told})
    if not tells:
        return ended
    return replace(ended, follow_ups=(FollowUp(errbacks_row(call, row, facts.get(TOLD) or [])),))


def _failed(facts: Mapping[str, Any], ends_chord: bool) -> Failed:
    if ends_chord:
        error = ChordError(f"Dependency {facts.get(BROKEN_BY)} raised {_shown(facts)}")
        return failure(error, trace="")
    reason = str(facts.get(REASON, ""))
    if CAUSE not in facts:
        return failure(_untold(facts), trace="")
    metadata = {OUTCOME: TaskOutcome.FAILED.value, EXCEPTION: facts[CAUSE]}
    return Failed(RuntimeError(reason), metadata, retry=False, error_text=reason, trace="")


def errbacks_row(call: TaskCall, row: JobRow, told: list[str]) -> InsertParams:
    """Return the row of the task that calls the errbacks of a row that never ran, but for those of `told`."""
    headers = {"ignore_result": True, "parent_id": call.id}
    message = Message(str(uuid.uuid4()), ERRBACKS_TASK, [row.id, told], {}, row.queue, headers=headers)
    return row_of(message, clock.now())


def _untold(facts: Mapping[str, Any]) -> Exception:
    """Return the exception of a member whose row tells none: it was given up, or taken away."""
    reason = str(facts.get(REASON, ""))
    return WorkerLostError(reason) if facts.get(LOST) else TaskRevokedError(reason)


def _shown(facts: Mapping[str, Any]) -> str:
    """Return the exception of a cause as its repr would be."""
    stored = facts.get(CAUSE)
    if not isinstance(stored, Mapping):
        return repr(_untold(facts))
    message = stored.get("exc_message")
    arguments = message if isinstance(message, list) else [message]
    return f"{stored.get('exc_type')}({', '.join(map(repr, arguments))})"
