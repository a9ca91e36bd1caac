"""Steps of a long job that a retry does not run again, and cursors inside them (River: ResumableStep).

Which step was done last travels in the row's metadata under River's own keys, so a job that one client
began another one resumes. What a checkpoint wrote in the caller's transaction counts only if that
transaction was committed; the row tells.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from river_core.errors import DatabaseError, ResumableError
from river_core.job import JobRow
from river_core.metadata import json_copy

STEP_KEY = "river:resumable_step"
CURSOR_KEY = "river:resumable_cursor"

NO_CURSOR: Final = object()
"""Stands for a cursor that was not given; None is one that may be."""

Result = TypeVar("Result")
Look = Callable[[], JobRow | None]
"""Reads the row as it is committed now."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """The step that was done last, empty for none, and the cursors of steps that were begun."""

    step: str
    cursors: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was known before and after a checkpoint in a transaction that may still be rolled back."""

    before: Progress
    after: Progress
    look: Look


class Steps:
    """The steps of one attempt, used by the thread or coroutine that runs the task.

    >>> job.steps.run("reserve", lambda: reserve(order))  # doctest: +SKIP
    >>> job.steps.run_cursor("mail", send_from, default=0)  # doctest: +SKIP
    """

    def __init__(self, row: JobRow) -> None:
        """Take up what earlier attempts have left in the row's metadata."""
        metadata = row.metadata
        stored, cursors = metadata.get(STEP_KEY), metadata.get(CURSOR_KEY)
        self._resume_at = stored if isinstance(stored, str) else ""
        self._reached = not self._resume_at
        self._known = Progress("", dict(cursors) if isinstance(cursors, dict) else {})
        self._cursors_stored = bool(self._known.cursors)
        self._names: set[str] = set()
        self._current: str | None = None
        self._last = ""
        self._tentative: list[Checkpoint] = []

    def run(self, name: str, body: Callable[[], Result]) -> Result | None:
        """Run `body` unless an earlier attempt got past this step; return its result, or None.

        Raises ResumableError for a name that was used before, inside another step, and for a coroutine,
        which `run_awaited` is for.
        """
        return self._blocking(name, body) if self._begins(name, name == self._resume_at) else None

    async def run_awaited(self, name: str, body: Callable[[], Awaitable[Result]]) -> Result | None:
        """Do as `run` in a coroutine: what `body` gives is awaited.

        >>> await job.steps.run_awaited("reserve", lambda: reserve(order))  # doctest: +SKIP
        """
        return await self._awaited(name, body) if self._begins(name, name == self._resume_at) else None

    def run_cursor(self, name: str, body: Callable[[Any], Result], default: Any = None) -> Result | None:
        """Run `body` with the cursor that an earlier attempt has left, else with `default`.

        `set_cursor` inside `body` moves it. Raises ResumableError as `run` does.
        """
        cursor = self._known.cursors.get(name, default)
        return self._blocking(name, lambda: body(cursor)) if self._begins_at_cursor(name) else None

    async def run_cursor_awaited(
        self, name: str, body: Callable[[Any], Awaitable[Result]], default: Any = None
    ) -> Result | None:
        """Do as `run_cursor` in a coroutine: what `body` gives is awaited."""
        cursor = self._known.cursors.get(name, default)
        return await self._awaited(name, lambda: body(cursor)) if self._begins_at_cursor(name) else None

    def _begins_at_cursor(self, name: str) -> bool:
        return self._begins(name, name == self._resume_at and name not in self._known.cursors)

    def set_cursor(self, value: Any) -> None:
        """Remember, for a retry, how far the current step has come (River: ResumableSetCursor).

        Raises ResumableError outside a step and ValidationError for what is no JSON.
        """
        cursors = {**self._known.cursors, self._inside(): json_copy("the cursor", value)}
        self._know(self._known.step, cursors)

    def _begins(self, name: str, done: bool) -> bool:
        """Take up a step; return whether it is to be run."""
        if self._current is not None:
            raise ResumableError(f"step {name!r} is inside step {self._current!r}; steps cannot be nested")
        if name in self._names:
            raise ResumableError(f"there are two steps {name!r}; a step's name must be unique in its job")
        self._names.add(name)
        if done:
            self._reached = True
            self._know(name, self._known.cursors)
            return False
        if name == self._resume_at:
            self._reached = True
        return self._reached

    def _blocking(self, name: str, body: Callable[[], Result]) -> Result:
        with self._inside_of(name):
            result = body()
            if isinstance(result, Awaitable):
                getattr(result, "close", lambda: None)()
                raise ResumableError(
                    f"step {name!r} is a coroutine; use `await job.steps.run_awaited` or `run_cursor_awaited`"
                )
            return result

    async def _awaited(self, name: str, body: Callable[[], Awaitable[Result]]) -> Result:
        with self._inside_of(name):
            return await body()

    @contextmanager
    def _inside_of(self, name: str) -> Iterator[None]:
        self._current = self._last = name
        try:
            yield
        finally:
            self._current = None
        self._know(name, {key: value for key, value in self._known.cursors.items() if key != name})

    def _know(self, step: str, cursors: dict[str, Any]) -> None:
        self._known = Progress(step, cursors)
        self._tentative.clear()

    def _inside(self) -> str:
        if self._current is None:
            raise ResumableError("there is no step to which this belongs; call it inside one")
        return self._current

    # -- for checkpoints and for the end of the attempt

    def after_checkpoint(self, cursor: Any) -> Progress:
        """Return what a checkpoint of the current step means; with NO_CURSOR the step counts as done.

        Raises ResumableError outside a step.
        """
        step = self._inside()
        kept = {key: value for key, value in self._known.cursors.items() if key != step}
        if cursor is not NO_CURSOR:
            kept[step] = json_copy("the cursor", cursor)
        return Progress(step, kept)

    def keep(self, progress: Progress, look: Look | None) -> None:
        """Take a checkpoint as made: for good, or if `look` finds it in the row when the attempt ends."""
        tentative = [*self._tentative, Checkpoint(self._known, progress, look)] if look is not None else []
        self._know(progress.step, progress.cursors)
        self._cursors_stored = self._cursors_stored or bool(progress.cursors)
        self._tentative = tentative

    def metadata(self, progress: Progress) -> dict[str, Any]:
        """Return the metadata that holds `progress`; cursors that are gone are written as null."""
        updates: dict[str, Any] = {STEP_KEY: progress.step}
        if progress.cursors or self._cursors_stored:
            updates[CURSOR_KEY] = progress.cursors or None
        return updates

    def unfinished(self) -> dict[str, Any]:
        """Return the metadata that an attempt which did not succeed leaves for the next one."""
        self._settle()
        step = self._known.step or (self._last if self._last in self._known.cursors else "")
        return self.metadata(Progress(step, self._known.cursors)) if step else {}

    def _settle(self) -> None:
        """Forget checkpoints whose transaction was rolled back."""
        if not self._tentative:
            return
        stored = _stored(self._tentative[-1].look)
        if stored is not None:
            self._cursors_stored = bool(stored.cursors)
        for checkpoint in reversed(self._tentative):
            if checkpoint.after == stored:
                return
            self._known = checkpoint.before

    def missing(self) -> ResumableError | None:
        """Return the error of a task that does not have the step at which it was to be resumed."""
        return None if self._reached else missing_step(self._resume_at)


def missing_step(name: str) -> ResumableError:
    """Return the error that River's clients give for a step that nobody reached."""
    return ResumableError(f'river: resumable step "{name}" not found in Worker')


def _stored(look: Look) -> Progress | None:
    try:
        row = look()
    except DatabaseError:
        logger.exception("a checkpoint could not be looked for; it counts as rolled back")
        return None
    if row is None:
        return None
    metadata = row.metadata
    return Progress(metadata.get(STEP_KEY) or "", metadata.get(CURSOR_KEY) or {})
