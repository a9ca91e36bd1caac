"""`chain`: tasks that run one after the other, each with the value of the one before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from river_compat.celery import _state, states
from river_compat.celery.canvas import algebra, stamps
from river_compat.celery.canvas.fields import Item
from river_compat.celery.canvas.lazy import is_many, lazy
from river_compat.celery.canvas.linking import linked
from river_compat.celery.canvas.options import OF_CHAIN, without
from river_compat.celery.canvas.signature import Signature, maybe_signature
from river_compat.celery.refused_names import lacking
from river_compat.celery.utils.text import remove_repeating_from_task
from river_compat.celery.ways_out import INTERNAL

NAME = "celery.chain"


@Signature.register_type(name="chain")
@lacking(INTERNAL, "prepare_steps")
class _chain(Signature):  # noqa: N801 - Celery's name
    """A chain as it is. `chain` itself first puts its tasks together as `|` does."""

    tasks = Item("kwargs.tasks", "The tasks of the chain.")

    def __init__(self, *tasks: Any, **options: Any) -> None:
        """Take the tasks, or one iterable of them; keywords are options."""
        found: Any = lazy(tasks[0]) if len(tasks) == 1 and is_many(tasks[0]) else tasks
        super().__init__(NAME, (), {"tasks": found}, **options)
        self.subtask_type = "chain"
        self.steps: list[Any] | None = None
        """The steps as `freeze` left them: without inner chains and empty groups."""
        self.gave_errbacks = False
        """Whether its steps have got errbacks of the whole by now."""

    @classmethod
    def from_dict(cls, d: dict[str, Any], app: Any = None) -> Any:
        """Return the chain that a dict describes."""
        tasks = [maybe_signature(task, app=app) for task in d["kwargs"]["tasks"] or ()]
        made = cls(tasks, app=app, **d["options"])
        made.args = d.get("args") or ()
        made.immutable = bool(d.get("immutable"))
        return made

    @property
    def app(self) -> Any:
        """The application: the one given, else that of the first task."""
        if self._app is not None:
            return self._app
        first = self.tasks[0] if self.tasks else None
        return getattr(first, "app", None) or _state.current_app

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Send the chain; None when it has no tasks."""
        return self.apply_async(args, kwargs) if self.tasks else None

    def __or__(self, other: Any) -> Any:
        """Return the chain with something added at its end."""
        return algebra.after_chain(self, other)

    def clone(self, *args: Any, **kwargs: Any) -> Any:
        """Return a copy whose tasks are copies."""
        copy = super().clone(*args, **kwargs)
        copy.tasks = [maybe_signature(task, app=self._app, clone=True) for task in copy.tasks]
        return copy

    def unchain_tasks(self) -> list[Any]:
        """Return copies of the tasks: the last with the chain's callbacks, all with its errbacks."""
        tasks = [maybe_signature(task, clone=True) for task in self.tasks]
        for callback in linked(self.options.get("link")):
            tasks[-1].link(callback)
        for errback in linked(self.options.get("link_error")):
            for task in tasks:
                task.link_error(deepcopy(errback))
        return tasks

    # -- sending and running

    def apply_async(  # type: ignore[override]
        self, args: Any = None, kwargs: Any = None, **options: Any
    ) -> Any:
        """Send the whole chain at once and return the result of its last task, whose parents are the others.

        None when there is nothing to send.
        """
        app = self.app
        if app.conf.task_always_eager:
            with _state.join_allowed(True):
                return self.apply(args, kwargs, **options)
        return self.run(args, kwargs, app=app, **{**self.options, **options})

    def run(self, args: Any = None, kwargs: Any = None, *, app: Any = None, **options: Any) -> Any:
        """Send the chain; `options` are those of the first task, but for ids and links."""
        from river_compat.celery.canvas.launching import launch

        prepared = self.prepared(app, options)
        return None if prepared is None else launch(app or self.app, prepared, args, kwargs, options)

    def prepared(self, app: Any, options: dict[str, Any]) -> Any:
        """Return a copy that is frozen and linked as the options say, which it takes out of them.

        None for a chain without tasks.
        """
        copy = self.clone()
        copy._app = app or self.app
        copy.options = without(copy.options, OF_CHAIN)
        own = {name: options.pop(name, None) for name in OF_CHAIN}
        copy.freeze(
            own["task_id"],
            group_id=own["group_id"],
            chord=own["chord"],
            root_id=own["root_id"],
            parent_id=own["parent_id"],
            group_index=own["group_index"],
        )
        if not copy.steps:
            return None
        add_links(copy.steps, own)
        copy.gave_errbacks = bool(own["link_error"])
        return copy

    def freeze(
        self,
        _id: str | None = None,
        group_id: str | None = None,
        chord: Any = None,
        root_id: str | None = None,
        parent_id: str | None = None,
        group_index: int | None = None,
    ) -> Any:
        """Give every task its id; return the last one's result, with the others as its parents."""
        self.steps = steps = list(_flat(self.tasks, self.app))
        if steps and self.args:
            _prepend(steps[0], self.args)
        last: Any = None
        for step in steps:
            if step is steps[-1]:
                found = step.freeze(_id, group_id, chord, root_id, None, group_index)
            else:
                found = step.freeze(root_id=root_id)
            if last is not None:
                root_of(found).parent = last
            last = found
        self.id = last.id if last is not None else _id
        self.frozen = last
        return last

    def apply(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        """Run the tasks here, one after the other, and return the last result.

        What is ignored or rejected ends the chain.
        """
        options = {**self.options, **options}
        callbacks = linked(options.pop("link", None))
        steps = [maybe_signature(task) for task in self.tasks]
        steps = [step for step in steps if not algebra.is_empty_group(step)] or steps[-1:]
        last: Any = None
        for step in steps:
            copy = step.clone()
            if step is steps[-1] and callbacks:
                held = copy.body if algebra.is_chord(copy) else copy
                held.extend_list_option("link", callbacks)
            found = (
                copy.apply(args or (), kwargs or {}, **options)
                if last is None
                else copy.apply((last.get(),), None, **options)
            )
            root_of(found).parent = last
            last = found
            if getattr(found, "state", None) in (states.IGNORED, states.REJECTED):
                break
        return last

    # -- stamps

    def stamp(self, visitor: Any = None, append_stamps: bool = False, **headers: Any) -> Any:
        """Put stamps on every task."""
        visited = (visitor.on_chain_start(self, **headers) or {}) if visitor is not None else None
        headers = stamps.gather(headers, visited, self.options, append_stamps)
        self.stamp_links(visitor, append_stamps, **headers)
        for task in self.tasks:
            task.stamp(visitor, append_stamps, **headers)
        if visitor is not None:
            visitor.on_chain_end(self, **headers)

    def __repr__(self) -> str:
        """Show the tasks with `|` between them."""
        if not self.tasks:
            return f"<{type(self).__name__}@{id(self):#x}: empty>"
        return remove_repeating_from_task(
            self.tasks[0]["task"], " | ".join(repr(task) for task in self.tasks)
        )


class chain(_chain):  # noqa: N801 - Celery's name
    """Tasks that run one after the other, each with the value of the one before.

    >>> chain(add.s(2, 2), add.s(4))().get()  # doctest: +SKIP
    8

    A single argument is an iterable of tasks. The result is what `|` would make of them: a chord, for
    one, where a group is followed by a task.
    """

    def __new__(cls, *tasks: Any, **options: Any) -> Any:
        """Put the tasks together, unless options are given."""
        if not options and tasks and (len(tasks) != 1 or is_many(tasks[0])):
            made = algebra.fold(tasks[0] if len(tasks) == 1 else tasks)
            if cls is chain or not isinstance(made, _chain):
                return made
            instance = super().__new__(cls)
            instance._folded = made.tasks
            return instance
        return super().__new__(cls)

    _folded: Any = None

    def __init__(self, *tasks: Any, **options: Any) -> None:
        """Take the tasks, or one iterable of them; keywords are options."""
        folded = self.__dict__.pop("_folded", None)
        super().__init__(*(tasks if folded is None else (folded,)), **options)


def _flat(tasks: Any, app: Any) -> Iterator[Any]:
    """Give the steps of a chain: inner chains opened, groups of one unrolled, empty groups left out.

    An empty group alone stays.
    """
    steps = list(_opened(tasks, app))
    found = [step for step in steps if not algebra.is_empty_group(step)]
    yield from found or steps[:1]


def _opened(tasks: Any, app: Any) -> Iterator[Any]:
    for item in tasks:
        task = item if isinstance(item, Signature) else maybe_signature(item, app=app)
        task = algebra.unrolled(task)
        if not algebra.is_chain(task):
            yield task
            continue
        inner = list(_opened(task.tasks, app))
        if inner and task.args:
            _prepend(inner[0], task.args)
        if inner:
            add_links(inner, task.options)
        yield from inner


def _prepend(step: Any, args: Any) -> None:
    step.args = (*args, *step.args)


def root_of(result: Any) -> Any:
    """Return the first of a result's parents, or itself."""
    node = result
    while node.parent is not None:
        node = node.parent
    return node


def link_end(step: Any, callback: Any) -> None:
    """Let a callback follow the end of a step: a chord's is that of its body."""
    if algebra.is_chord(step) and step.body is not None:
        link_end(step.body, callback)
    elif algebra.is_group(step):
        step.link(callback)
    else:
        step.append_to_list_option("link", callback)


def add_links(steps: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Let a chain's callbacks follow its last step, and its errbacks the failure of any."""
    for callback in linked(options.get("link")):
        link_end(steps[-1], callback)
    for errback in linked(options.get("link_error")):
        for step in steps:
            step.link_error(errback)
