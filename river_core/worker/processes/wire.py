"""What a keeper and its child say to each other: pickled tuples over a socket, each with its length first.

Both ends are the same program; rows go as tuples and plain successes as four values, times as seconds, since
pickling the objects takes several times as long.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from river_core.errors import JobCancelError, JobInterruptedError
from river_core.job import JobRow, JobState
from river_core.outcome import StateChange
from river_core.worker.completion import CompletedInTx, Completion, Deletion, WriteReceipt
from river_core.worker.events import EventKind

# from the worker
JOBS, STOP, INTERRUPT, WRITTEN, TELL, END = range(6)
# from the child
READY, DONE, LIMITS, SKIPPED, FULL = range(5)

CAUSES: tuple[type[JobCancelError | JobInterruptedError] | None, ...] = (
    None,
    JobCancelError,
    JobInterruptedError,
)
READ_BYTES = 1 << 18
_LENGTH = struct.Struct("<I")
_ROW_FIELDS = tuple(field.name for field in fields(JobRow))
row_values = attrgetter(*_ROW_FIELDS)
"""The values of a row, from which `JobRow(*values)` makes it again."""

PLAIN = 0
_CLASSES = (Completion, Deletion, CompletedInTx)


def frame(message: Any) -> bytes:
    """Return a message as it goes over the socket; raises what pickle raises."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Puts messages together from what arrives of them."""

    def __init__(self) -> None:
        """Hold nothing."""
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """Take what was read and give the messages that are whole by now."""
        buffer = self._buffer
        buffer += data
        at = 0
        while len(buffer) - at >= _LENGTH.size:
            end = at + _LENGTH.size + _LENGTH.unpack_from(buffer, at)[0]
            if end > len(buffer):
                break
            message = pickle.loads(memoryview(buffer)[at + _LENGTH.size : end])  # noqa: S301 - our own child's
            at = end
            yield message
        del buffer[:at]


def pack_completion(completion: Completion) -> tuple[Any, ...]:
    """Return a completion without its row, which the worker has."""
    change, ran = completion.change, completion.ran
    if ran is not None and _is_plain(completion) and change.finalized_at is ran[1]:
        return PLAIN, change.metadata, ran[0].timestamp(), ran[1].timestamp()
    kind = _CLASSES.index(type(completion))
    snapshot = completion.snapshot if isinstance(completion, CompletedInTx) else None
    return 1 + kind, change, str(completion.decided), ran, snapshot


def _is_plain(completion: Completion) -> bool:
    change, ran = completion.change, completion.ran or ()
    is_success = type(completion) is Completion and change.state is JobState.COMPLETED and change.is_plain
    return is_success and all(time.tzinfo is UTC for time in ran)


def unpack_completion(row: JobRow, values: tuple[Any, ...], receipt: WriteReceipt | None) -> Completion:
    """Return the completion of a row, as the child made it."""
    if values[0] == PLAIN:
        _, metadata, began, ended = values
        ran = datetime.fromtimestamp(began, UTC), datetime.fromtimestamp(ended, UTC)
        change = StateChange(JobState.COMPLETED, finalized_at=ran[1], metadata=metadata)
        return Completion(row, change, EventKind.JOB_COMPLETED, ran, receipt)
    number, change, decided, times, snapshot = values
    kind = _CLASSES[number - 1]
    if kind is CompletedInTx:
        return CompletedInTx(row, change, EventKind(decided), times, receipt, snapshot)
    return kind(row, change, EventKind(decided), times, receipt)
