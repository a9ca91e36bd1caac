"""Calls of one workflow that differ by id, place and arguments alone: made after the first of them.

The members of a group of 10,000 have their options, headers and queue in common, and the ordinary way of a
call would work all of that out for each. Here the first goes the ordinary way, and the text of its row is
taken apart at what differs.

Whatever somebody else has a say in goes the ordinary way, call by call: an `apply_async`, `shadow_name` or
`send_task` that is not our own, receivers of the signals of sending, routes, and steps that wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from river_compat.celery import workflow_calls
from river_compat.celery.app.task import Task
from river_compat.celery.canvas.signature import Signature
from river_compat.celery.known_calls import nobody_looks
from river_compat.celery.message import Message
from river_compat.celery.own_ways import is_own
from river_compat.celery.row_text import RowText
from river_compat.celery.successor import successor_of
from river_core.insert import InsertParams

if TYPE_CHECKING:
    from river_compat.celery.canvas.plan import Step
    from river_compat.celery.outgoing import Batch, ToWrite

FEW = 8
"""In a workflow of no more steps there is nothing to be won."""

_MISSING = object()
VARYING = ("task_id", "group_index")
"""Options of a signature that differ between members."""


class Alike:
    """Makes the rows of steps that are like one that was sent before them in the same workflow."""

    def __init__(self, app: Any, batch: Batch, steps: int) -> None:
        """Put rows into `batch`, which belongs to `app`, for a workflow of so many steps."""
        self._app = app
        self._batch = batch
        self._is_open = steps > FEW and nobody_looks(app)
        self._patterns: dict[tuple[int, ...], Pattern | None] = {}

    @property
    def is_used(self) -> bool:
        """Whether one of the steps so far can be the pattern of others."""
        return any(self._patterns.values())

    def add(self, step: Step) -> bool:
        """Put the row of a step into the batch if one like it is known; else return False.

        Raises what sending raises for its arguments.
        """
        pattern = self._patterns.get(_place(step)) if self._is_open else None
        if pattern is None or not pattern.fits(step):
            return False
        self._batch.items.append(pattern.copy_for(step))
        step.is_sent = True
        return True

    def learn(self, step: Step) -> None:
        """Take the step that was just sent the ordinary way as the pattern of others."""
        place = _place(step)
        if not self._is_open or place in self._patterns:
            return
        last = self._batch.items[-1]
        usable = last.handle is step.sig.frozen and _goes_our_way(self._app, step)
        self._patterns[place] = Pattern.of(last, step) if usable else None


def _place(step: Step) -> tuple[int, ...]:
    """Return what steps that are alike have in common beside their options."""
    return id(step.sig._type), id(step.start), id(step.body), id(step.follows)


def _goes_our_way(app: Any, step: Step) -> bool:
    task, sig = step.sig._type, step.sig
    return (
        isinstance(task, Task)
        and task.app is app
        and task._dump_arguments is None
        and all(is_own(method) for method in (task.apply_async, task.shadow_name, sig.apply_async))
        and sig.options.get("router") is None
        and sig.options.get("root_id") != sig.id
    )


@dataclass(slots=True)
class Copy:
    """A row that is to be written, as `Outgoing`; its message is put together only for who asks."""

    row: InsertParams
    handle: Any
    task_id: str
    step: Step
    pattern: Pattern

    @property
    def options(self) -> dict[str, Any]:
        """The options of the call."""
        return self.pattern.first.options

    @property
    def message(self) -> Message:
        """The call that the row stores."""
        first, sig = self.pattern.first.message, self.step.sig
        args, kwargs = _arguments(self.step)
        headers = {**first.headers, "group_index": sig.options.get("group_index")}
        return replace(
            first, task_id=self.task_id, args=args, kwargs=kwargs, headers=headers, links=self.row.links
        )


@dataclass(frozen=True, slots=True)
class Pattern:
    """The row of a first step, and the text that those of others are made of."""

    first: ToWrite
    text: RowText
    options: tuple[tuple[str, Any], ...]
    """The options of its signature that others must have, too."""
    option_count: int
    check: Any
    root_id: str | None
    priority: int | None

    @classmethod
    def of(cls, first: ToWrite, step: Step) -> Pattern | None:
        """Take the row of a step apart; None where that would not make the very same row again."""
        task, options = step.sig._type, step.sig.options
        pattern = cls(
            first=first,
            text=RowText.of(first.message),
            options=tuple((name, options[name]) for name in options if name not in VARYING),
            option_count=len(options),
            check=getattr(task, "__header__", None) if task.typing else None,
            root_id=None if step.root_id == first.task_id else step.root_id,
            priority=step.priority,
        )
        return pattern if pattern.fits(step) and pattern.copy_for(step).row == first.row else None

    def fits(self, step: Step) -> bool:
        """Whether the row of a step can be made from this one."""
        sig = step.sig
        if type(sig) is not Signature or step.name is not None or step.before:
            return False
        options = sig["options"]
        if len(options) != self.option_count or successor_of(options["task_id"]) is not None:
            return False
        if type(sig["args"]) not in (tuple, list) or type(sig["kwargs"]) is not dict:
            return False
        for name, value in self.options:
            given = options.get(name, _MISSING)
            if given is not value and (type(given) is not type(value) or given != value):
                return False
        return True

    def copy_for(self, step: Step) -> Copy:
        """Return the row of a step that fits."""
        sig, row = step.sig, self.first.row
        args, kwargs = _arguments(step)
        if self.check is not None:
            self.check(*args, **kwargs)
        options = sig["options"]
        task_id, handle = options["task_id"], sig.frozen
        step.root_id, step.priority = self.root_id or task_id, self.priority
        handle.ignored = bool(self.first.message.headers.get("ignore_result"))
        text = self.text.of_call(task_id, options.get("group_index"), args, kwargs)
        made = InsertParams(
            row.kind,
            text,
            row.queue,
            row.state,
            row.priority,
            row.max_attempts,
            row.scheduled_at,
            None,
            row.encoded_metadata,
            links=workflow_calls.links(options, step) if row.links is not None or step.feeds else None,
        )
        return Copy(made, handle, task_id, step, self)


def _arguments(step: Step) -> tuple[Any, Mapping[str, Any]]:
    start, sig = step.start, step.sig
    if not (start.args or start.kwargs):
        return sig["args"], sig["kwargs"]
    args, kwargs, _ = sig._merge(start.args, start.kwargs)
    return args, kwargs
