"""From a frozen workflow to its steps: who waits for whom, and what each step takes.

Every task of a workflow is a step of its own, and a row of its own; groups, chains and chords are only the
arrows between them. A step takes the value of the one before, or the list of values of a group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from river_compat.celery.canvas import algebra
from river_compat.celery.canvas.chains import add_links
from river_compat.celery.canvas.chord_body import link_body
from river_compat.celery.canvas.linking import linked
from river_compat.celery.canvas.options import NOT_OF_BODY, OF_LINKS, OF_PLACE, without
from river_compat.celery.canvas.signature import Signature, maybe_signature
from river_compat.celery.outgoing import Batch
from river_core.links import Feed, Links

Shape = list[Any]
"""A list of values: a number stands for so many of them, a list for one that is a list itself."""


@dataclass(slots=True)
class Step:
    """One task of a workflow."""

    sig: Any
    start: Start
    before: tuple[Step, ...] = ()
    takes_list: bool = False
    shape: Shape | None = None
    """How the values of a list are nested; None for a flat one."""
    ends_chord: bool = False
    """Whether it runs in a chord's body, first: its errbacks are called where the header fails."""
    in_group: bool = False
    """Whether it begins a group there: tasks of one fail as the header did, any other with ChordError."""
    told_as: str | None = None
    """The id that its errbacks hear when the header fails: of the chain that gave them, else its own."""
    group_id: str | None = None
    name: str | None = None
    feeds: list[Feed] = field(default_factory=list)
    body: Step | None = None
    """The first step of the chord's body that it feeds, if any."""
    follows: Any = None
    """The results that are children of this step's, as its row keeps them."""
    root_id: str | None = None
    priority: int | None = None
    is_sent: bool = False

    @property
    def links(self) -> Links | None:
        """How its row hangs together with others."""
        if self.name is None and not self.feeds:
            return None
        return Links(self.name, tuple(self.feeds))


@dataclass(frozen=True, slots=True)
class Start:
    """What the first tasks of a part of a workflow are called with."""

    args: Any = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    takes: bool = True
    """Whether values of the steps before are put in front of the arguments."""

    def within(self, container: Any) -> Start:
        """Return the start of a container's tasks: its own options hold where the call says nothing."""
        own = without(container.options, OF_PLACE)
        return Start(self.args, self.kwargs, {**own, **self.options}, self.takes)

    @property
    def unlinked(self) -> Start:
        """The same without callbacks and errbacks."""
        return Start(self.args, self.kwargs, without(self.options, OF_LINKS), self.takes)


@dataclass(frozen=True, slots=True)
class Ends:
    """The last steps of a part, and whether what follows takes the list of their values."""

    steps: tuple[Step, ...]
    is_list: bool
    of_chord: bool = False
    shape: Shape | None = None
    to_group: bool = False


class Plan:
    """The steps of a workflow in the order in which they are sent."""

    def __init__(self, batch: Batch) -> None:
        """Take the batch that the steps' rows will be part of."""
        self.steps: list[Step] = []
        self._batch = batch
        self._linked_bodies: set[int] = set()
        """Bodies of chords that have their errbacks from a chain around the chord."""

    def add(self, sig: Any, before: Ends | None, start: Start, group_id: str | None = None) -> Ends:
        """Add a frozen signature that runs after `before`; `group_id` is for its last tasks."""
        if type(sig) is Signature:  # as nearly all are
            return self._task(sig, before, start, group_id)
        if algebra.is_chain(sig):
            return self._chain(sig, before, start.within(sig), group_id)
        if algebra.is_group(sig):
            return self._group(sig, before, start.within(sig))
        if algebra.is_chord(sig):
            return self._chord(sig, before, start, group_id)
        return self._task(sig, before, start, group_id)

    def _task(self, sig: Any, before: Ends | None, start: Start, group_id: str | None) -> Ends:
        step = Step(sig, start, group_id=group_id)
        if before is not None:
            step.name = self._batch.fresh_name()
            step.before, step.takes_list, step.ends_chord = before.steps, before.is_list, before.of_chord
            step.shape, step.in_group = before.shape, before.to_group
            for index, member in enumerate(before.steps):
                member.feeds.append(Feed(step.name, index))
                if before.of_chord and member.body is None:
                    member.body = step
        self.steps.append(step)
        return Ends((step,), False)

    def _chain(self, sig: Any, before: Ends | None, start: Start, group_id: str | None) -> Ends:
        steps = sig.steps if sig.steps is not None else sig.tasks
        add_links(steps, start.options)
        tells = self._tells_as_whole(sig, steps, before, start)
        start = start.unlinked
        ends = before
        for at, item in enumerate(steps):
            step = maybe_signature(item)
            is_last = at == len(steps) - 1
            follows_task = ends is not None and ends is not before and not ends.is_list
            if ends is not None and follows_task:
                for member in ends.steps:
                    member.follows = trail(step)
            ends = self.add(step, ends, start if at == 0 else Start(), group_id if is_last else None)
            if at == 0 and tells:
                for first in ends.steps:
                    first.told_as = sig.id
        return ends if ends is not None else Ends((), False)

    def _tells_as_whole(self, sig: Any, steps: Any, before: Ends | None, start: Start) -> bool:
        """Whether errbacks of a chord's body hear the id of this chain when the header fails, as Celery's do.

        Those that an outer chain has given to the chord hear that of the body's first step.
        """
        if not (sig.gave_errbacks or start.options.get("link_error")):
            return False
        self._linked_bodies.update(id(step.body) for step in steps if algebra.is_chord(step))
        return before is not None and before.of_chord and id(sig) not in self._linked_bodies

    def _group(self, sig: Any, before: Ends | None, start: Start) -> Ends:
        group_id = sig.options.get("group_id") or sig.id
        before = None if before is None else replace(before, to_group=True)
        parts = [self.add(maybe_signature(task), before, start, group_id) for task in sig.tasks]
        steps = tuple(step for part in parts for step in part.steps)
        return Ends(steps, True, of_chord=True, shape=_shape(parts))

    def _chord(self, sig: Any, before: Ends | None, start: Start, group_id: str | None) -> Ends:
        start = start.within(sig)
        if sig.body is not None:
            link_body(sig.body, linked(start.options.get("link")), linked(start.options.get("link_error")))
        return self.chord(sig.header_as_group(), sig.body, before, start.unlinked, group_id)

    def chord(
        self, header: Any, body: Any, before: Ends | None, start: Start, group_id: str | None = None
    ) -> Ends:
        """Add a header and what runs with the list of its values."""
        ends = self.add(header, before, start)
        if body is None:
            return ends
        options = without(start.options, NOT_OF_BODY)
        if ends.steps:
            return self.add(body, ends, Start(options=options), group_id)
        alone = None if before is None else Ends(before.steps, before.is_list, shape=before.shape)
        return self.add(body, alone, Start(([],), {}, options, takes=False), group_id)


def _shape(parts: Sequence[Ends]) -> Shape | None:
    """Return how the values of a group are nested: those of a part that ends in a group are a list."""
    if not any(part.is_list for part in parts):
        return None
    shape: Shape = []
    for part in parts:
        if part.is_list:
            shape.append(part.shape or [len(part.steps)])
        elif shape and isinstance(shape[-1], int):
            shape[-1] += len(part.steps)
        else:
            shape.append(len(part.steps))
    return shape


def trail(sig: Any) -> Any:
    """Return the result that whoever sends a frozen workflow gets as a child: that of what starts it."""
    if algebra.is_chain(sig):
        steps = sig.steps if sig.steps is not None else sig.tasks
        return trail(steps[0]) if steps else None
    if algebra.is_chord(sig):
        return trail(sig.header_as_group())
    return sig.frozen
