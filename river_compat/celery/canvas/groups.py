"""`group`: tasks that run side by side."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from kombu.utils.functional import fxrange

from river_compat.celery import _state
from river_compat.celery.canvas import algebra, stamps
from river_compat.celery.canvas.fields import Item
from river_compat.celery.canvas.lazy import Lazy, is_many, lazy
from river_compat.celery.canvas.signature import Signature, maybe_signature
from river_compat.celery.utils.text import remove_repeating_from_task

NAME = "celery.group"


@Signature.register_type()
class group(Signature):  # noqa: N801 - Celery's name
    """Tasks that run side by side.

    >>> group(add.s(i, i) for i in range(3))().get()  # doctest: +SKIP
    [0, 2, 4]
    """

    tasks = Item("kwargs.tasks", "The tasks of the group.")
    _are_copies = False
    """Whether nobody else has the tasks of this group, so that they need not be copied once more."""

    def __init__(self, *tasks: Any, **options: Any) -> None:
        """Take the tasks, or one iterable of them, which is not looked at before it is needed."""
        super().__init__(NAME, (), {"tasks": _members(tasks)}, **options)
        self.subtask_type = "group"

    @classmethod
    def from_dict(cls, d: dict[str, Any], app: Any = None) -> Any:
        """Return the group that a dict describes."""
        tasks = [maybe_signature(task, app=app) for task in d["kwargs"]["tasks"]]
        d["kwargs"]["tasks"] = tasks
        return cls(tasks, app=app, **d["options"])

    @property
    def app(self) -> Any:
        """The application: the one given, else that of the first task."""
        if self._app is not None:
            return self._app
        first = self.tasks[0] if self.tasks else None
        found = getattr(first, "app", None)
        return found if found is not None else _state.current_app

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Send the group with these arguments in front of each task's own."""
        return self.apply_async(args, **options)

    def __or__(self, other: Any) -> Any:
        """Return the chord of the group and what follows it."""
        return algebra.after_group(self, other)

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.tasks)

    def skew(self, start: float = 1.0, stop: float | None = None, step: float = 1.0) -> Any:
        """Give each task a countdown of its own, in seconds from `start` in steps."""
        seconds_each = fxrange(start, stop, step, repeatlast=True)  # type: ignore[no-untyped-call]
        for task, seconds in zip(self.tasks, seconds_each, strict=False):
            task.set(countdown=seconds)
        return self

    # -- sending and running

    def apply_async(  # type: ignore[override]
        self,
        args: Any = None,
        kwargs: Any = None,
        add_to_parent: bool = True,
        producer: Any = None,
        link: Any = None,
        link_error: Any = None,
        **options: Any,
    ) -> Any:
        """Send all tasks at once and return a GroupResult; raises TypeError for links."""
        if link is not None:
            raise TypeError("Cannot add link to group: use a chord")
        if link_error is not None:
            raise TypeError("Cannot add link to group: do that on individual tasks")
        app = self.app
        if app.conf.task_always_eager:
            return self.apply(args, kwargs, **options)
        if not self.tasks:
            return self.freeze()
        from river_compat.celery.canvas import overlapping
        from river_compat.celery.canvas.launching import launch
        from river_compat.celery.canvas.plan import Start

        options = self.with_own(options)
        copy, place = self.prepared(app, options)
        if overlapping.applies(app, copy.tasks, options):
            return overlapping.launch(
                app, copy, Start(args or (), kwargs or {}, options), place, add_to_parent
            )
        copy.freeze(**place)
        found = launch(app, copy, args, kwargs, {**options, "add_to_parent": add_to_parent})
        alone = len(found) == 1 and isinstance(found[0], app.GroupResult)
        return found[0] if alone else found

    def with_own(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options of a call with those of the group."""
        kept = self.FIXED.intersection(self.options)
        return {**self.options, **{name: value for name, value in options.items() if name not in kept}}

    def prepared(self, app: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return a copy under the id among `options`, which is taken out, and what its `freeze` takes."""
        copy = of_copies(self._copies(app), app)
        copy.options = {"task_id": options.pop("task_id", None) or str(uuid.uuid4())}
        options.pop("group_id", None)
        return copy, {"group_id": copy.id, "root_id": options.get("root_id")}

    def _copies(self, app: Any) -> list[Any]:
        return [maybe_signature(task, app=app, clone=True) for task in self.tasks]

    def freeze(
        self,
        _id: str | None = None,
        group_id: str | None = None,
        chord: Any = None,
        root_id: str | None = None,
        parent_id: str | None = None,
        group_index: int | None = None,
    ) -> Any:
        """Give every task its id and return a GroupResult. Inner groups are opened, empty chains left out."""
        for _ in self.freezing(group_id, chord, root_id, parent_id, group_index):
            pass
        return self.frozen

    def freezing(
        self,
        group_id: str | None = None,
        chord: Any = None,
        root_id: str | None = None,
        parent_id: str | None = None,
        group_index: int | None = None,
    ) -> Iterator[Any]:
        """Do as `freeze`, and give each task as soon as it has its id; the result is there at the end."""
        options = self.options
        options.setdefault("task_id", str(uuid.uuid4()))
        given = {"group_id": group_id, "chord": chord}
        options.update({name: value for name, value in given.items() if value})
        if group_index is not None:
            options["group_index"] = group_index
        root_id = options.setdefault("root_id", root_id)
        parent_id = options.setdefault("parent_id", parent_id)
        members = list(flat_members(self.tasks, self._app, clone=not self._are_copies))
        results = []
        for index, task in enumerate(members):
            results.append(
                task.freeze(
                    group_id=group_id, chord=chord, root_id=root_id, parent_id=parent_id, group_index=index
                )
            )
            yield task
        self._keep(members)
        self.frozen = self.app.GroupResult(self.id, results)

    _freeze = freeze

    def _keep(self, members: list[Any]) -> None:
        if type(self.tasks) is list:
            self.tasks[:] = members
        else:
            self.tasks = members

    def apply(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        """Run the tasks here, in order, and return a GroupResult."""
        app = self.app
        if not self.tasks:
            return self.freeze()
        options = self.with_own(options)
        group_id = options.pop("task_id", None) or str(uuid.uuid4())
        options["group_id"] = group_id
        members = flat_members(self.tasks, app)
        return app.GroupResult(
            group_id, [task.apply(args=args or (), kwargs=kwargs or {}, **options) for task in members]
        )

    # -- what goes to the tasks

    def set_immutable(self, immutable: bool) -> None:
        """Say of every task whether it leaves out arguments that come later."""
        for task in self.tasks:
            task.set_immutable(immutable)

    def link(self, sig: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # Celery's name
        """Link a callback, without the value, to the first task."""
        return self.tasks[0].link(sig.clone().set(immutable=True))

    def link_error(self, sig: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # as above
        """Link an errback to every task."""
        sig = maybe_signature(sig)
        return tuple(task.link_error(sig.clone()) for task in self.tasks)

    def stamp(self, visitor: Any = None, append_stamps: bool = False, **headers: Any) -> Any:
        """Put stamps on every task; those that a generator has yet to give get them when they come."""
        visited = (visitor.on_group_start(self, **headers) or {}) if visitor is not None else None
        headers = stamps.gather(headers, visited, self.options, append_stamps)
        self.stamp_links(visitor, append_stamps, **headers)
        stamp_all(self.tasks, visitor, append_stamps, headers)
        if visitor is not None:
            visitor.on_group_end(self, **headers)

    def __repr__(self) -> str:
        """Show the tasks."""
        if not self.tasks:
            return "group(<empty>)"
        return remove_repeating_from_task(self.tasks[0]["task"], f"group({self.tasks!r})")


def _members(tasks: Any) -> Any:
    if len(tasks) != 1:
        return tasks
    only = tasks[0]
    if isinstance(only, group):
        only = only.tasks
    if isinstance(only, Signature):
        return [only.clone()]
    return lazy(only) if is_many(only) else [only]


def of_copies(tasks: list[Any], app: Any) -> Any:
    """Return a group of tasks that nobody else has."""
    made: Any = group(tasks, app=app)
    made._are_copies = True
    return made


def flat_members(tasks: Iterable[Any], app: Any, clone: bool = True) -> Iterator[Any]:
    """Give the tasks of a group, by default copies: inner groups opened, empty chains left out."""
    for item in tasks:
        task = maybe_signature(item, app=app, clone=clone)
        if isinstance(task, group):
            yield from flat_members(task.tasks, app)
        elif not (algebra.is_chain(task) and not task.tasks):
            yield task


def stamp_all(tasks: Any, visitor: Any, append: bool, headers: dict[str, Any]) -> None:
    """Put stamps on the tasks of a group or header."""

    def stamped(item: Any) -> Any:
        task = maybe_signature(item)
        task.stamp(visitor, append, **headers)
        return task

    if isinstance(tasks, Lazy):
        tasks.map(stamped)
        return
    made = [stamped(task) for task in tasks]
    if isinstance(tasks, list):
        tasks[:] = made
