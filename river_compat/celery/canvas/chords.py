"""`chord`: a group, and a body that runs once with the list of its values."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from types import GeneratorType
from typing import Any

from river_compat.celery import _state
from river_compat.celery.canvas import algebra, stamps
from river_compat.celery.canvas.chains import chain, root_of
from river_compat.celery.canvas.chord_body import for_body, frozen_body, with_links
from river_compat.celery.canvas.fields import Item
from river_compat.celery.canvas.groups import flat_members, group, of_copies, stamp_all
from river_compat.celery.canvas.lazy import Lazy
from river_compat.celery.canvas.options import OF_HEADER, OF_LINKS, given
from river_compat.celery.canvas.signature import Signature, maybe_signature, signature
from river_compat.celery.utils.text import remove_repeating_from_task

NAME = "celery.chord"


@Signature.register_type(name="chord")
class _chord(Signature):  # noqa: N801 - Celery's name
    """A group, and a body that runs once with the list of its values.

    >>> chord([add.s(2, 2), add.s(4, 4)])(xsum.s()).get()  # doctest: +SKIP
    12
    """

    tasks = Item("kwargs.header", "The tasks of the header.")
    body = Item("kwargs.body", "What runs when all of the header succeeded.")

    def __init__(
        self,
        header: Any,
        body: Any = None,
        task: str = NAME,
        args: Any = None,
        kwargs: Mapping[str, Any] | None = None,
        app: Any = None,
        **options: Any,
    ) -> None:
        """Take header and body; `kwargs` are keyword arguments of the header's tasks."""
        held = {
            **(kwargs or {"kwargs": {}}),
            "header": _header(header, app),
            "body": maybe_signature(body, app=app),
        }
        super().__init__(task, args, held, app=app, **options)
        self.subtask_type = "chord"

    @classmethod
    def from_dict(cls, d: dict[str, Any], app: Any = None) -> Any:
        """Return the chord that a dict describes."""
        kwargs = dict(d["kwargs"])
        header, body = kwargs.pop("header", None), kwargs.pop("body", None)
        others = {name: value for name, value in d.items() if name != "kwargs"}
        return cls(header, body, app=app, kwargs=kwargs, **others)

    @property
    def app(self) -> Any:
        """The application: the one given, else that of the first task, else that of the body."""
        return self._get_app(self.body)

    def _get_app(self, body: Any = None) -> Any:
        if self._app is not None:
            return self._app
        tasks = getattr(self.tasks, "tasks", self.tasks)
        found = _own_app(tasks[0]) if tasks else None
        if found is None and body is not None:
            found = _own_app(body)
        return found if found is not None else _state.current_app

    def header_as_group(self) -> Any:
        """Return the header as a group."""
        return self.tasks if isinstance(self.tasks, group) else group(self.tasks, app=self._app)

    def __call__(self, body: Any = None, **options: Any) -> Any:
        """Send the chord, with another body if one is given."""
        return self.apply_async((), {"body": body} if body else {}, **options)

    def __or__(self, other: Any) -> Any:
        """Return the chord, or chain, with something added at its end."""
        return algebra.after_chord(self, other)

    def __length_hint__(self) -> int:
        """Return how many values the body gets."""
        return sum(algebra.width(task) for task in getattr(self.tasks, "tasks", self.tasks))

    @classmethod
    def _descend(cls, sig: Any) -> int:
        return algebra.width(sig)

    def clone(self, *args: Any, **kwargs: Any) -> Any:
        """Return a copy with a copy of the body."""
        copy = super().clone(*args, **kwargs)
        if "body" in copy.kwargs:
            copy.body = maybe_signature(copy.body, clone=True)
        return copy

    # -- sending and running

    def apply_async(  # type: ignore[override]
        self,
        args: Any = None,
        kwargs: Any = None,
        task_id: str | None = None,
        producer: Any = None,
        publisher: Any = None,
        connection: Any = None,
        router: Any = None,
        result_cls: Any = None,
        **options: Any,
    ) -> Any:
        """Send header and body at once and return the body's result, whose parent is the header's.

        `task_id` is the body's; `countdown` and `eta` delay the header.
        """
        args = (*args, *self.args) if args and not self.immutable else self.args
        kwargs = dict(kwargs or {})
        body = kwargs.pop("body", None) or self.body
        kwargs = {**(self.kwargs.get("kwargs") or {}), **kwargs}
        delay = {name: options.pop(name) for name in OF_HEADER if options.get(name) is not None}
        links = {name: options.pop(name) for name in OF_LINKS if name in options}
        body = body.clone(**for_body(options))
        app = self._get_app(body)
        if app.conf.task_always_eager:
            body = with_links(body, {**self.options, **links})
            with _state.join_allowed(True):
                return self.apply(args, kwargs, body=body, task_id=task_id, **options)
        options = {**self.options, **options, **links, **delay}
        own_id = options.pop("task_id", None)
        return self._send(app, body, args, kwargs, task_id or own_id, connection, options)

    def _send(
        self,
        app: Any,
        body: Any,
        args: Any,
        kwargs: Any,
        task_id: str | None,
        connection: Any,
        options: dict[str, Any],
    ) -> Any:
        from river_compat.celery.canvas import streaming
        from river_compat.celery.canvas.plan import Start

        delay = given({name: options.pop(name, None) for name in OF_HEADER})
        if connection is None and streaming.applies(app, self.tasks):
            start = Start(args, kwargs, {**given(options), **delay})
            return streaming.send(app, self, body, start, task_id)
        return self.run(
            self._header_to_send(app),
            body,
            args,
            app=app,
            task_id=task_id,
            kwargs=kwargs,
            header_delay=delay,
            connection=connection,
            **options,
        )

    def _header_to_send(self, app: Any) -> Any:
        if isinstance(self.tasks, group):
            return self.tasks.clone()
        return group(list(self.tasks), app=app, task_id=self.options.get("task_id") or str(uuid.uuid4()))

    def run(
        self,
        header: Any,
        body: Any,
        partial_args: Any,
        app: Any = None,
        interval: float | None = None,
        countdown: float = 1,
        max_retries: int | None = None,
        eager: bool = False,
        task_id: str | None = None,
        kwargs: Any = None,
        header_delay: Mapping[str, Any] | None = None,
        connection: Any = None,
        **options: Any,
    ) -> Any:
        """Send `header` and `body`; nothing polls, so `interval`, `countdown`, `max_retries` do nothing."""
        from river_compat.celery.canvas.launching import launch_chord

        app = app or self._get_app(body)
        group_id = header.options.get("task_id") or str(uuid.uuid4())
        options = {**self.options, **options}
        held = {name: options.pop(name, None) for name in OF_HEADER}
        body, result = frozen_body(body, options, task_id, group_id)
        header = of_copies(list(flat_members(header.tasks, app)), app)
        header.options["task_id"] = group_id
        header_result = header.freeze(group_id=group_id, chord=body, root_id=options.get("root_id"))
        root_of(result).parent = header_result
        start = {**options, **given(held), **(header_delay or {}), "connection": connection}
        app.backend.apply_chord(
            (group_id, header_result.results),
            body,
            send=lambda: launch_chord(app, header, body, partial_args, kwargs, given(start)),
            interval=interval,
            countdown=countdown,
            max_retries=max_retries,
        )
        return result

    def freeze(
        self,
        _id: str | None = None,
        group_id: str | None = None,
        chord: Any = None,
        root_id: str | None = None,
        parent_id: str | None = None,
        group_index: int | None = None,
    ) -> Any:
        """Give all tasks their ids; return the body's result, with the header's as its first parent."""
        self.tasks = self.header_as_group()
        self.tasks.options.setdefault("task_id", str(uuid.uuid4()))
        header_result = self.tasks.freeze(parent_id=parent_id, root_id=root_id, chord=self.body)
        self.id = self.tasks.id
        self.frozen = header_result
        if self.body is None:
            return None
        self.frozen = self.body.freeze(_id, group_id, chord, root_id, None, group_index)
        root_of(self.frozen).parent = header_result
        return self.frozen

    def apply(
        self, args: Any = None, kwargs: Any = None, propagate: bool = True, body: Any = None, **options: Any
    ) -> Any:
        """Run header and body here and return the body's result."""
        body = self.body if body is None else body
        header = self.header_as_group().clone()
        found = header.apply(args or (), kwargs or {})
        result = body.apply(args=(found.get(propagate=propagate),))
        root_of(result).parent = found
        return result

    # -- what goes to header and body

    def set_immutable(self, immutable: bool) -> None:
        """Say of every task of the header whether it leaves out arguments that come later."""
        for task in self.tasks:
            task.set_immutable(immutable)

    def link(self, callback: Any) -> Any:
        """Link a callback to the body."""
        self.body.link(callback)
        return callback

    def link_error(self, errback: Any) -> Any:
        """Link an errback to the body, and to the header where the settings say so."""
        errback = maybe_signature(errback)
        tasks = getattr(self.tasks, "tasks", self.tasks)
        if self.app.conf.task_allow_error_cb_on_chord_header:
            for task in tasks:
                task.link_error(errback.clone(immutable=True))
        for task in tasks:
            if isinstance(task, _chord):
                task.link_error(errback.clone())
        self.body.link_error(errback)
        return errback

    def stamp(self, visitor: Any = None, append_stamps: bool = False, **headers: Any) -> Any:
        """Put stamps on the tasks of the header and on the body."""
        tasks = getattr(self.tasks, "tasks", self.tasks)
        visited = (visitor.on_chord_header_start(self, **headers) or {}) if visitor is not None else None
        headers = stamps.gather(headers, visited, self.options, append_stamps)
        self.stamp_links(visitor, append_stamps, **headers)
        stamp_all(tasks, visitor, append_stamps, headers)
        if visitor is not None:
            visitor.on_chord_header_end(self, **headers)
        if self.body is not None:
            of_body = (visitor.on_chord_body(self, **headers) or {}) if visitor is not None else None
            headers = stamps.gather(headers, of_body, self.options, append_stamps)
            self.body.stamp(visitor, append_stamps, **headers)

    def __repr__(self) -> str:
        """Show the body with the header as its argument."""
        if not self.body:
            return f"<chord without body: {self.tasks!r}>"
        if algebra.is_chain(self.body):
            first, *rest = self.body.tasks
            text = f"%({first.reprcall(self.tasks)} | {chain(rest, app=self._app)!r})"
            return remove_repeating_from_task(first["task"], text)
        return "%" + remove_repeating_from_task(self.body["task"], self.body.reprcall(self.tasks))


chord = _chord


def _header(tasks: Any, app: Any) -> Any:
    if isinstance(tasks, dict) and not isinstance(tasks, Signature):
        tasks = signature(tasks, app=app)
    if algebra.is_group(tasks) or algebra.is_chain(tasks):
        return tasks.tasks
    if isinstance(tasks, Signature):
        return [tasks]
    made: Iterator[Any] = (signature(task, app=app) for task in tasks)
    return Lazy(made) if isinstance(tasks, GeneratorType) else list(made)


def _own_app(sig: Any) -> Any:
    """Return the application of a signature, None where it would be the current one."""
    app = getattr(sig, "_app", None)
    if app is None:
        app = getattr(sig, "app", None)
        if app is _state.current_app:
            return None
    return app
