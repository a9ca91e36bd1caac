"""The part of an application that knows its tasks: decorators, registry, and when tasks come to be."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from river_compat.celery import _state
from river_compat.celery.app import definition
from river_compat.celery.app import task as task_module
from river_compat.celery.app.annotations import prepare
from river_compat.celery.app.registry import TaskRegistry
from river_compat.celery.local import PromiseProxy, Proxy, maybe_evaluate
from river_compat.celery.retries import add_autoretry
from river_compat.importing import import_path

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

BoundTask = task_module.Task
AnyTask = task_module.Task[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


class Declaring:
    """Tasks of an application. Those that are only declared come to be at `finalize()`."""

    registry_cls: Any = TaskRegistry
    task_cls: Any = None
    """The base of the application's tasks; a class or its path, by default `default_task_class`."""

    main: str | None
    autofinalize: bool
    finalized: bool
    conf: Any
    on_after_finalize: Any
    _tasks: TaskRegistry
    _bound_task_class: Any
    _annotations: Any

    def _start_tasks(self, tasks: Any, task_cls: Any) -> None:
        registry = import_path(self.registry_cls) if isinstance(self.registry_cls, str) else self.registry_cls
        tasks = import_path(tasks) if isinstance(tasks, str) else tasks
        tasks = tasks() if isinstance(tasks, type) else tasks
        self._tasks = tasks if isinstance(tasks, TaskRegistry) else registry(tasks or {})
        if task_cls is not None:
            self.task_cls = task_cls
        self.default_task_class: Any = BoundTask
        self.finalized = False
        self._bound_task_class = None
        self._annotations = None
        self._finalize_lock = threading.RLock()
        self._pending: deque[Any] = deque()
        self._duplicates: set[str] = set()

    @property
    def Task(self) -> Any:  # noqa: N802 - the name is Celery's
        """The base class of the application's tasks, bound to it; may be set to one of your own."""
        if self._bound_task_class is None:
            base = self.task_cls or self.default_task_class
            base = import_path(base) if isinstance(base, str) else base
            self._bound_task_class = type(
                base.__name__, (base,), {"_app": self, "__module__": base.__module__, "abstract": True}
            )
        return self._bound_task_class

    @Task.setter
    def Task(self, base: Any) -> None:  # noqa: N802
        self.task_cls, self._bound_task_class = base, None

    @property
    def tasks(self) -> TaskRegistry:
        """The tasks by name; reading it finalizes the application."""
        self.finalize(auto=True)
        return self._tasks

    @property
    def annotations(self) -> Any:
        """What `task_annotations` says, ready to be asked."""
        given = self.conf.task_annotations
        if self._annotations is None or self._annotations[0] is not given:
            self._annotations = (given, prepare(given))
        return self._annotations[1]

    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> BoundTask[P, R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> BoundTask[P, R]: ...
    @overload
    def task(  # pyright: ignore[reportOverlappingOverload]  # a bound function's first parameter is the task
        self, *, bind: Literal[True], **options: Any
    ) -> Callable[[Callable[Concatenate[Any, P], R]], BoundTask[P, R]]: ...
    @overload
    def task(self, **options: Any) -> Callable[[Callable[P, R]], BoundTask[P, R]]: ...

    def task(self, *args: Any, **options: Any) -> Any:
        """Make a task of a function: a decorator, bare or with options.

        Raises TypeError for a first argument that cannot be called.
        """
        if len(args) == 1 and callable(args[0]):
            return self._decorate(args[0], **options)
        if args:
            raise TypeError("@app.task takes one function or keyword options")

        def decorate(function: Callable[..., Any]) -> Any:
            return self._decorate(function, **options)

        return decorate

    def _decorate(
        self,
        function: Callable[..., Any],
        shared: bool = True,
        filter: Callable[[Any], Any] | None = None,  # noqa: A002 - the keyword is Celery's
        lazy: bool = True,
        **options: Any,
    ) -> Any:
        if not callable(function) or isinstance(function, Proxy):
            raise TypeError(f"a task is made of a function, not of {function!r}")
        if shared:
            key = _state.definition_key(function, options.get("name"))
            _state.connect_on_app_finalize(lambda app: app.copy_task(function, options), key)
        if lazy and not self.finalized:
            task: Any = PromiseProxy(lambda: self.task_from_function(function, **options), function.__doc__)
            self._pending.append(task)
        else:
            task = self.task_from_function(function, **options)
        return filter(task) if filter is not None else task

    def task_from_function(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        base: type[Any] | None = None,
        bind: bool = False,
        **options: Any,
    ) -> AnyTask:
        """Register a function as a task and return it; of two with one name the first stays."""
        if not self.finalized and not self.autofinalize:
            raise RuntimeError("the application is not finalized yet; call app.finalize()")
        name = name or self.gen_task_name(function.__name__, function.__module__)
        if name in self._tasks:
            self._warn_duplicate(name, function)
            return self._tasks[name]
        task = definition.make_task(self._as_app(), function, name, base or self.Task, bind, options)
        self._tasks[name] = task
        task.bind(self._as_app())
        add_autoretry(task, options)
        return task

    def _as_app(self) -> Celery:
        app: Any = self
        return app  # type: ignore[no-any-return]

    def copy_task(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        """Register another application's shared task, unless this one has a task of that name."""
        name = options.get("name") or self.gen_task_name(function.__name__, function.__module__)
        if name not in self._tasks:
            self.task_from_function(function, **{**options, "name": name})

    def _warn_duplicate(self, name: str, function: Callable[..., Any]) -> None:
        existing = getattr(self._tasks[name], "_decorated_function", None)
        if existing is not None and existing is not function and name not in self._duplicates:
            self._duplicates.add(name)
            definition.warn_duplicate(name, existing, function, "The first one stays registered.")

    def register_task(self, task: Any, **options: Any) -> Any:
        """Register a task class or instance; one of the same name is replaced, with a warning."""
        instance = task() if isinstance(task, type) else maybe_evaluate(task)
        cls = type(instance)
        if not instance.name:
            instance.name = self.gen_task_name(cls.__name__, cls.__module__)
        existing = self.tasks.get(instance.name)
        if existing is not None and existing is not instance:
            old = getattr(existing, "_decorated_function", existing)
            definition.warn_duplicate(instance.name, old, instance, "The one before it is replaced.")
        definition.refuse_options(cls, instance.name)
        definition.refuse_generators(instance.name, instance.run)
        self._tasks[instance.name] = instance
        instance.bind(self)
        add_autoretry(instance, options)
        return instance

    def gen_task_name(self, name: str, module: str) -> str:
        """Return the name of a task that was given none; may be overridden."""
        return definition.generated_name(self.main, name, module)

    def finalize(self, auto: bool = False) -> None:
        """Make every task that was only declared so far, copies of the shared ones, and Celery's own.

        Raises RuntimeError for an automatic call when `autofinalize` is off.
        """
        if self.finalized:
            return
        with self._finalize_lock:
            if self.finalized:
                return
            if auto and not self.autofinalize:
                raise RuntimeError("the application is not finalized yet; call app.finalize()")
            self.finalized = True
            self._make_tasks()
        self.on_after_finalize.send(sender=self)

    def _make_tasks(self) -> None:
        from river_compat.celery.app.builtins import add_builtin_tasks

        self.conf.load()
        add_builtin_tasks(self._as_app())
        while self._pending:
            maybe_evaluate(self._pending.popleft())
        _state.announce_app_finalized(self._as_app())
