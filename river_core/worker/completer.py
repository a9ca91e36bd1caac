"""Writes the ends of attempts in batches (River: BatchCompleter).

There is no timer: whatever finished while the last statement ran is written by the next one, so an
idle job does not wait and batches grow with the load. The completer knows batches, retries and
back-pressure; why an attempt ended the way it did is the executor's, what is sent the writer's.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential, wait_random

from river_core.errors import DatabaseError, MissingSchemaError, OperationalError
from river_core.job import JobRow, JobState
from river_core.outcome import StateChange
from river_core.service import Service
from river_core.worker.completion import Completion
from river_core.worker.events import EventKind
from river_core.worker.outcome_writer import OutcomeWriter

MAX_BATCH_ROWS = 5_000
HOLD_ABOVE = 10_000
RESUME_BELOW = 5_000
STATEMENT_TRIES = 3
DRAIN_SECONDS = 20.0
DRAIN_PAUSE_SECONDS = 0.2
RETRY_REFUSED_SECONDS = 10.0
SHOWN_IDS = 20

logger = logging.getLogger(__name__)


Reject = Callable[[JobRow, BaseException], StateChange]
Written = Callable[[Sequence[Completion], dict[int, JobState]], None]


class Completer(Service):
    """Collects completions from all slots and writes them on a connection of its own."""

    def __init__(self, writer: OutcomeWriter, reject: Reject, written: Written) -> None:
        """Write by `writer`.

        `reject` decides again for an outcome that the database refused; `written` is told of each
        batch and the states that it left.
        """
        super().__init__("river-completer")
        self._writer = writer
        self._reject = reject
        self._written = written
        self._waiting: deque[Completion] = deque()
        self._refused: list[Completion] = []
        self._retry_refused_at = 0.0
        self._writing: list[Completion] = []
        self._lost = 0
        self._idle = False
        self._turn = threading.Lock()
        self._room = threading.Event()
        self._room.set()

    def put(self, completion: Completion) -> None:
        """Take a completion; holds the caller back while more than 10,000 wait."""
        self._waiting.append(completion)
        if self._idle:
            self._idle = False
            self.wake()
        if len(self._waiting) > HOLD_ABOVE:
            self._room.clear()
            self._room.wait()

    def take_turn(self, completion: Completion) -> bool:
        """Take a completion that the calling thread writes by `write_turn` next, if nothing else is written.

        That spares the way to another thread. Otherwise it is put, and False returned.
        """
        if self._idle and self._turn.acquire(blocking=False):
            self._writing = [completion]
            return True
        self.put(completion)
        return False

    def write_turn(self) -> None:
        """Write what `take_turn` took, and tell of it. What goes wrong is left to the completer's thread."""
        batch = self._writing
        try:
            self._tell_all(batch, self._writer.write(batch))
        except Exception as error:  # noqa: BLE001 - the completer's thread says what is wrong
            logger.debug("the outcome of job %d is written later: %s", batch[0].row.id, error)
            self._waiting.extendleft(batch)  # not `put`, which waits for room while none is made
            self.wake()
        finally:
            self._writing = []
            self._turn.release()

    @property
    def backlog(self) -> int:
        """How many completions wait to be written."""
        return len(self._waiting)

    def ids(self) -> list[int]:
        """Return the ids of jobs whose outcome waits to be written."""
        return [item.row.id for item in (*list(self._waiting), *self._writing, *self._refused)]

    @property
    def lost(self) -> int:
        """How many outcomes were given up when the completer stopped."""
        return self._lost

    def write_now(self, completion: Completion) -> bool:
        """Write one completion in the calling thread; return whether it could be.

        Raises OperationalError when the database does not answer.
        """
        return not self._write([completion])

    def run(self) -> None:
        """Write until stopped; then write what is left, for as long as its patience lasts."""
        while not self.stopping:
            if not self._waiting:
                self._idle = True
                if not self._waiting:
                    self.wait(RETRY_REFUSED_SECONDS if self._refused else None)
                self._idle = False
                self._take_refused_again()
                continue
            with self._turn:
                self._turn_or_put_back()
        with self._turn:
            self._drain()
        self._room.set()
        for item in (*self._waiting, *self._refused):
            _settle(item, None)

    def _drain(self) -> None:
        """At the stop an outage may end yet: outcomes that are given up here run a second time."""
        until = time.monotonic() + DRAIN_SECONDS
        while self._waiting and time.monotonic() < until:
            before = len(self._waiting)
            self._turn_or_put_back()
            if len(self._waiting) >= before:
                time.sleep(DRAIN_PAUSE_SECONDS)
        self._lost = len(self._waiting) + len(self._refused)
        if self._lost:
            logger.error("%d outcomes could not be written before the worker stopped", self._lost)

    def _turn_or_put_back(self) -> None:
        batch = self._writing = self._take()
        try:
            self._refused.extend(self._write(batch))
        except Exception as error:
            unexpected = None if isinstance(error, DatabaseError) else error
            delay = self.grown_delay()
            text = "%d outcomes could not be written; next try in %.1f s: %s"
            logger.error(text, len(batch), delay, error, exc_info=unexpected)
            self._waiting.extendleft(reversed(batch))
            self.wait(delay)
        else:
            self.succeeded()
        self._writing = []

    def _take_refused_again(self) -> None:
        """Now and then try outcomes again that the database refused in every form; the cause may have gone.

        Not at every turn: they would halve each batch that they are part of, and fill the log.
        """
        now = time.monotonic()
        if self._refused and now >= self._retry_refused_at:
            self._retry_refused_at = now + RETRY_REFUSED_SECONDS
            refused, self._refused = self._refused, []
            self._waiting.extend(refused)

    def _take(self) -> list[Completion]:
        taken = (self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_BATCH_ROWS)))
        batch = _last_of_each(taken)
        if not self._room.is_set() and len(self._waiting) < RESUME_BELOW:
            self._room.set()
        return batch

    def _write(self, batch: list[Completion]) -> list[Completion]:
        """Write a batch; halve it where the database refuses it, until the culprit is alone.

        Returns what cannot be written in any form for now; raises OperationalError in an outage.
        """
        try:
            states = self._with_retries(batch)
        except (OperationalError, MissingSchemaError):
            raise
        except (DatabaseError, TypeError, ValueError, RecursionError) as error:
            if len(batch) > 1:
                middle = len(batch) // 2
                return self._write(batch[:middle]) + self._write(batch[middle:])
            return self._write_rejected(batch[0], error)
        self._tell_all(batch, states)
        return []

    def _write_rejected(self, completion: Completion, error: BaseException) -> list[Completion]:
        logger.error("the outcome of job %d was refused: %s", completion.row.id, error)
        change = self._reject(completion.row, error)
        failed = EventKind.JOB_FAILED
        instead = [Completion(completion.row, change, failed, completion.ran, completion.receipt)]
        try:
            states = self._with_retries(instead)
        except (OperationalError, MissingSchemaError):
            raise
        except DatabaseError as again:
            logger.error("nor can the failure of job %d be written: %s", completion.row.id, again)
            return [completion]
        self._tell(instead, states)
        return []

    def _tell_all(self, batch: Sequence[Completion], states: dict[int, JobState]) -> None:
        self._tell(batch, states)
        _log_late(batch, states)

    def _tell(self, batch: Sequence[Completion], states: dict[int, JobState]) -> None:
        try:
            self._written(batch, states)
        except Exception:
            logger.exception("telling of written outcomes failed")
        for item in batch:
            if item.receipt is not None:
                item.receipt.settle(states.get(item.row.id))

    def _with_retries(self, batch: Sequence[Completion]) -> dict[int, JobState]:
        retrying = Retrying(
            stop=stop_after_attempt(STATEMENT_TRIES),
            wait=wait_exponential(multiplier=0.2) + wait_random(0, 0.1),
            retry=retry_if_exception_type(OperationalError),
            sleep=self._rest,
            reraise=True,
        )
        return retrying(self._writer.write, batch)

    def _rest(self, seconds: int | float) -> None:
        self.pause(seconds)


def _settle(item: Completion, state: JobState | None) -> None:
    if item.receipt is not None:
        item.receipt.settle(state)


def _last_of_each(taken: Iterable[Completion]) -> list[Completion]:
    """Return the last completion of each row; nobody waits for an earlier one any longer."""
    batch: dict[int, Completion] = {}
    for item in taken:
        earlier = batch.get(item.row.id)
        if earlier is not None:
            _settle(earlier, None)
        batch[item.row.id] = item
    return list(batch.values())


def _log_late(batch: Sequence[Completion], states: Collection[int]) -> None:
    """Say which outcomes changed nothing, since somebody else has the row by now."""
    late = [item.row.id for item in batch if item.row.id not in states and type(item) is Completion]
    if late:
        logger.warning(
            "jobs %s were taken over or deleted while they ran here; their outcome here changes nothing",
            ", ".join(map(str, late[:SHOWN_IDS])) + (", …" if len(late) > SHOWN_IDS else ""),
        )
