"""`Signature`: a call of a task that is not made yet, as a dict that survives JSON."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from kombu.utils.functional import reprcall

from river_compat.celery._state import current_app
from river_compat.celery.canvas.fields import Item
from river_compat.celery.canvas.linking import Linking, linked
from river_compat.celery.canvas.options import given
from river_compat.celery.canvas.stamping import Stamping
from river_compat.celery.canvas.stamps import NAMES
from river_compat.celery.exceptions import unsupported
from river_compat.celery.leftovers import refuse_operand
from river_compat.celery.own_ways import own
from river_compat.task_ids import fresh_id


class Signature(Linking, Stamping, dict[str, Any]):
    """The task, the arguments and the options of a call.

    Arguments given later are put in front of those here; keyword arguments and options are merged.
    """

    TYPES: ClassVar[dict[str, type[Signature]]] = {}
    FIXED = frozenset({"group_id", NAMES})
    """Options that stay once they are set, as the stamps do that the second lists."""

    _app: Any = None
    _type: Any = None
    if TYPE_CHECKING:  # what only containers have
        tasks: Any
        body: Any
        run: Any

    id = Item("options.task_id", "The id of the task, once it is known.")
    parent_id = Item("options.parent_id", "The id of the task that sends this one.")
    root_id = Item("options.root_id", "The id of the first task of the workflow.")
    task = Item("task", "The name of the task.")
    args = Item("args", "Positional arguments.")
    kwargs = Item("kwargs", "Keyword arguments.")
    options = Item("options", "Options of `apply_async`.")
    subtask_type = Item("subtask_type", "Which kind of signature this is; None for a task.")
    immutable = Item("immutable", "Whether arguments that come later are left out.")

    def __init__(
        self,
        task: Any = None,
        args: Any = None,
        kwargs: Any = None,
        options: Mapping[str, Any] | None = None,
        type: Any = None,  # noqa: A002 - Celery's name
        subtask_type: str | None = None,
        immutable: bool = False,
        app: Any = None,
        **more: Any,
    ) -> None:
        """Take a task or its name; a dict instead is taken as it is. `more` are options."""
        self._app = app
        if isinstance(task, dict):
            super().__init__(task)
            return
        name = getattr(task, "name", None)
        if name is not None:
            self._type = task
        super().__init__(
            task=task if name is None else name,
            args=tuple(args or ()),
            kwargs=kwargs or {},
            options={**(options or {}), **more},
            subtask_type=subtask_type,
            immutable=immutable,
        )

    __class_getitem__: Any = classmethod(types.GenericAlias)

    @classmethod
    def register_type(cls, name: str | None = None) -> Callable[[type[Signature]], type[Signature]]:
        """Return a decorator that makes a subclass known to `from_dict`."""

        def register(subclass: type[Signature]) -> type[Signature]:
            cls.TYPES[name or subclass.__name__] = subclass
            return subclass

        return register

    @classmethod
    def from_dict(cls, d: dict[str, Any], app: Any = None) -> Any:
        """Return the signature that a dict describes, of the kind that it names."""
        kind = d.get("subtask_type")
        if kind:
            wanted = cls.TYPES[kind]
            if wanted is not cls:
                return wanted.from_dict(d, app=app)
        return Signature(d, app=app)

    # -- what it is about

    @property
    def name(self) -> Any:
        """The name of the task."""
        return self.task

    @property
    def app(self) -> Any:
        """The application: the one given, else the current one."""
        return self._app or current_app

    @cached_property
    def type(self) -> Any:
        """The task; raises NotRegistered for one that this process does not know."""
        return self._type or self.app.tasks[self.task]

    @property
    def AsyncResult(self) -> Any:  # noqa: N802 - Celery's name
        """The class of the task's results."""
        try:
            return self.type.AsyncResult
        except KeyError:
            return self.app.AsyncResult

    @property
    def _apply_async(self) -> Any:
        try:
            return self.type.apply_async
        except KeyError:
            return partial(self.app.send_task, self.task)

    # -- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the task here, as a function."""
        args, kwargs, _ = self._merge(args, kwargs, None)
        return self.type(*args, **kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> Any:
        """Send the task, with these arguments in front."""
        return self.apply_async(args, kwargs)

    def apply(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        """Run the task here and now and return its result."""
        args, kwargs, options = self._merge(args, kwargs, given(options))
        return self.type.apply(args, kwargs, **options)

    @own
    def apply_async(
        self, args: Any = None, kwargs: Any = None, route_name: str | None = None, **options: Any
    ) -> Any:
        """Send the task; options that are None count as not given."""
        args, kwargs, options = self._merge(args, kwargs, given(options))
        return self._apply_async(args, kwargs, **options)

    def __invert__(self) -> Any:
        """Send the task and wait for its value."""
        return self.apply_async().get()

    def election(self) -> NoReturn:
        """Refuse: workers of a database elect nobody."""
        raise unsupported("Signature.election()", "give the task a unique key, or send it from one place")

    # -- merging and copying

    def _merge(
        self,
        args: Any = None,
        kwargs: Any = None,
        options: Mapping[str, Any] | None = None,
        force: bool = False,
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Return arguments and options with those that come later; `force` overrides immutability."""
        merged = self.options
        if options is not None:
            fixed = self.FIXED.union(self.options.get(NAMES) or ())
            kept = fixed.intersection(self.options)
            merged = {**self.options, **{name: value for name, value in options.items() if name not in kept}}
        if self.immutable and not force:
            return self.args, self.kwargs, merged
        return (
            (*args, *self.args) if args else self.args,
            {**self.kwargs, **kwargs} if kwargs else self.kwargs,
            merged,
        )

    def clone(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        """Return a copy, with more arguments and options. Options are copied through and through."""
        if args or kwargs or options:
            args, kwargs, merged = self._merge(args, kwargs, options or None)
        else:
            args, kwargs, merged = self["args"], self["kwargs"], self["options"]
        copy = Signature.from_dict(
            {
                "task": self["task"],
                "args": tuple(args),
                "kwargs": dict(kwargs),
                "options": deepcopy(merged) if merged else {},
                "subtask_type": self.get("subtask_type"),
                "immutable": self.get("immutable"),
            },
            app=self._app,
        )
        copy._type = self._type
        return copy

    partial = clone

    def replace(self, args: Any = None, kwargs: Any = None, options: Any = None) -> Any:
        """Return a copy with other arguments or options instead of its own."""
        copy = self.clone()
        for name, value in (("args", args), ("kwargs", kwargs), ("options", options)):
            if value is not None:
                copy[name] = value
        return copy

    def set(self, immutable: bool | None = None, **options: Any) -> Any:
        """Set options, and whether later arguments are left out; returns itself."""
        if immutable is not None:
            self.set_immutable(immutable)
        self.options.update(options)
        return self

    def set_immutable(self, immutable: bool) -> None:
        """Say whether arguments that come later are left out."""
        self.immutable = immutable

    def freeze(
        self,
        _id: str | None = None,
        group_id: str | None = None,
        chord: Any = None,
        root_id: str | None = None,
        parent_id: str | None = None,
        group_index: int | None = None,
    ) -> Any:
        """Give the call its id and place in a workflow, and return its result before it is sent."""
        options = self["options"]
        task_id = options.setdefault("task_id", _id or fresh_id())
        options.setdefault("reply_to", self.app.thread_oid)
        if group_id:
            options.setdefault("group_id", group_id)
        others = {"root_id": root_id, "parent_id": parent_id, "chord": chord}
        options.update({name: value for name, value in others.items() if value})
        if group_index is not None:
            options["group_index"] = group_index
        self.frozen = self.AsyncResult(task_id)
        return self.frozen

    frozen: Any = None
    """The result that `freeze` returned last."""

    _freeze = freeze

    # -- what follows

    def _linked_by(self, key: str, app: Any) -> list[Any]:
        """Return the signatures of `link` or `link_error`, of an application."""
        return [maybe_signature(item, app=app) for item in linked(self.options.get(key))]

    def flatten_links(self) -> list[Any]:
        """Return this signature and all that follow by `link`, theirs too."""
        following = self._linked_by("link", self._app)
        return [self, *(item for link in following for item in link.flatten_links())]

    # -- putting together

    def __or__(self, other: Any) -> Any:
        """Return the chain of this and another signature."""
        from river_compat.celery.canvas.algebra import after_task

        return after_task(self, other)

    def __ror__(self, other: Any) -> Any:
        """Merge with a dict, as any dict does; raises UnsupportedFeature for a signature of Celery's own."""
        refuse_operand(other)
        return super().__ror__(other)

    def __ior__(self, other: Any) -> Any:  # a dict's own would merge
        """Return the chain of this and another signature."""
        return self.__or__(other)

    # -- being a dict

    def reprcall(self, *args: Any, **kwargs: Any) -> str:
        """Return the call as text, with more arguments."""
        args, kwargs, _ = self._merge(args, kwargs, {}, force=True)
        return str(reprcall(self["task"], args, kwargs))  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        """Show the call."""
        return self.reprcall()

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        """Return a plain dict whose options are copied; arguments may be iterators and are kept."""
        copy = dict(self)
        memo[id(self)] = copy
        copy["options"] = deepcopy(self.options, memo)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a dict."""
        return signature, (dict(self),)

    def __json__(self) -> dict[str, Any]:
        """Return what JSON holds."""
        return dict(self)

    def items(self) -> Iterator[tuple[Any, Any]]:  # type: ignore[override]  # Celery's own is no view
        """Give the items; keys that came as bytes become text."""
        for key, value in super().items():
            yield key.decode() if isinstance(key, bytes) else key, value


def signature(varies: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a signature: of a task or its name, of a dict that describes one, or a copy of one."""
    if isinstance(varies, Signature):
        return varies.clone()
    if isinstance(varies, dict):
        return Signature.from_dict(varies, app=kwargs.get("app"))
    return Signature(varies, *args, **kwargs)


subtask = signature


def maybe_signature(d: Any, app: Any = None, clone: bool = False) -> Any:
    """Return a dict as the signature that it describes, anything else as it is; `clone` copies signatures."""
    if d is None:
        return None
    if isinstance(d, Signature):
        d = d.clone() if clone else d
    elif isinstance(d, dict):
        d = signature(d)
    if app is not None:
        d._app = app
    return d


maybe_subtask = maybe_signature
