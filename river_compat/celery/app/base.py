"""The application: its settings, its tasks, and what belongs to it (`celery.app.base`)."""

from __future__ import annotations

import threading
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state, canvas
from river_compat.celery import fixups as framework_fixups
from river_compat.celery.app import builtins as _builtins  # noqa: F401 - every application has them
from river_compat.celery.app import database, definition
from river_compat.celery.app.modules import Discovery, Packages, import_task_modules
from river_compat.celery.app.registry import TaskRegistry
from river_compat.celery.app.settings import Settings
from river_compat.celery.app.task import Task
from river_compat.celery.async_result import AsyncResult
from river_compat.celery.backend import RowBackend
from river_compat.celery.exceptions import AlwaysEagerIgnored, unsupported
from river_compat.celery.group_result import GroupResult
from river_compat.celery.local import PromiseProxy, Proxy, maybe_evaluate
from river_compat.celery.not_yet import refuse_attribute
from river_compat.celery.options import queue_name
from river_compat.celery.priority import scheme_of
from river_compat.celery.result_set import ResultSet
from river_compat.celery.retries import add_autoretry
from river_compat.celery.sending import send, task_options
from river_compat.celery.utils.zones import timezone
from river_compat.importing import import_path
from river_compat.runtime import Runtime

AnyTask = Task[..., Any]


class Celery:
    """A Celery application whose queue is a database.

    >>> app = Celery("shop", broker="postgresql://localhost/shop")  # doctest: +SKIP
    """

    def __init__(
        self,
        main: str | None = None,
        loader: Any = None,
        backend: Any = None,
        amqp: Any = None,
        events: Any = None,
        log: Any = None,
        control: Any = None,
        set_as_current: bool = True,
        tasks: Any = None,
        broker: str | None = None,
        include: Iterable[str] | str | None = None,
        changes: dict[str, Any] | None = None,
        config_source: Any = None,
        fixups: Any = None,
        task_cls: Any = None,
        autofinalize: bool = True,
        namespace: str | None = None,
        strict_typing: bool = True,
        **settings: Any,
    ) -> None:
        """Take Celery's parameters; any other keyword is a setting. Nothing connects here.

        Raises UnsupportedFeature for replaced parts of Celery, such as `amqp=`.
        """
        self._refuse_parts(amqp=amqp, control=control, events=events, fixups=fixups, loader=loader, log=log)
        self.main = main
        self.namespace = namespace
        self.autofinalize = autofinalize
        self.strict_typing = strict_typing
        self.finalized = False
        self._task_class = task_cls
        self.default_task_class: Any = Task
        self._bound_task_class: Any = None
        self._finalize_lock = threading.RLock()
        self._thread = threading.local()
        self._pending: deque[Any] = deque()
        self._discoveries: list[Discovery] = []
        self._duplicates: set[str] = set()
        self._timezone: str | tzinfo | None = None
        self._tasks = tasks if isinstance(tasks, TaskRegistry) else TaskRegistry(tasks or {})
        given = {"broker_url": broker, "result_backend": backend, "include": _as_tuple(include)}
        set_by_us = {name: value for name, value in given.items() if value}
        self.conf = Settings({**(changes or {}), **settings, **set_by_us})
        if config_source is not None:
            self.conf.use_source(config_source, silent=False, namespace=namespace)
        self.runtime = Runtime(
            lambda: database.open_database(self.conf),
            lambda: self.conf.river_queue_names == "lenient",
            lambda: bool(self.conf.river_poll_only),
            lambda: bool(self.conf.river_notify_inserts),
            lambda: self.conf.river_plugins,
        )
        self.backend = RowBackend(self)
        self._fixups = framework_fixups.install(self)
        if set_as_current:
            self.set_current()
        _state.register_app(self)

    @staticmethod
    def _refuse_parts(**parts: Any) -> None:
        for name, value in parts.items():
            if value:
                raise unsupported(f"Celery({name}={value!r})", "leave it out; these parts do not exist here")

    # -- being current

    def set_current(self) -> None:
        """Make this the current application of the thread."""
        _state.set_current_app(self)

    def set_default(self) -> None:
        """Make this the application of threads that have none of their own."""
        _state.set_default_app(self)

    def close(self) -> None:
        """Close the database connections and forget the application."""
        self.runtime.close()
        _state.deregister_app(self)

    def __enter__(self) -> Celery:
        """Return the application, which the end of the block closes."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    @property
    def current_task(self) -> AnyTask | None:
        """The task that runs here, or None."""
        return _state.get_current_task()

    @property
    def current_worker_task(self) -> AnyTask | None:
        """The task that runs here and was not just called as a function, or None."""
        frame = _state.get_current_worker_frame()
        return frame.task if frame is not None else None

    # -- configuration

    def config_from_object(
        self, obj: Any, silent: bool = False, force: bool = False, namespace: str | None = None
    ) -> None:
        """Read settings from an object, a mapping or a module's name, at the first use or now (`force`)."""
        self.namespace = namespace or self.namespace
        self.conf.use_source(obj, silent, self.namespace)
        if force:
            self.conf.load()

    def add_defaults(self, defaults: Any) -> Any:
        """Add defaults, as a mapping or a function that returns one; usable as a decorator."""
        self.conf.add_defaults(defaults)
        return defaults

    @property
    def priority_scheme(self) -> str | None:
        """Which end of 0 to 9 is first, or None when nothing says it."""
        return scheme_of(self.conf.task_priority_scheme, database.old_broker_url(self.conf))

    @property
    def timezone(self) -> tzinfo:
        """The time zone of the settings, by default UTC, or the machine's where `enable_utc` is off."""
        zone = self._timezone or self.conf.timezone
        if not zone:
            return timezone.utc if self.conf.enable_utc else timezone.local
        return timezone.get_timezone(zone)

    @timezone.setter
    def timezone(self, zone: str | tzinfo) -> None:
        self._timezone = zone

    def now(self) -> datetime:
        """Return the time, aware, in the application's zone."""
        return datetime.now(UTC).astimezone(self.timezone)

    def queue_names(self) -> list[str]:
        """Return the queues that the settings name: `task_queues`, or the default queue."""
        queues = self.conf.task_queues or (self.conf.task_default_queue,)
        return [name for queue in queues if (name := queue_name(queue))]

    def at_most_once(self, task: AnyTask | None) -> bool:
        """Whether a crash ends a row for good: `acks_late` was set to False on purpose."""
        if task is not None and task.acks_late_of_task is not None:
            return not task.acks_late_of_task
        return not self.conf.task_acks_late and self.conf.is_set("task_acks_late")

    # -- tasks

    @property
    def Task(self) -> Any:  # noqa: N802 - the name is Celery's
        """The base class of the application's tasks, bound to it; may be set to one of your own."""
        if self._bound_task_class is None:
            base = self._task_class or self.default_task_class
            base = import_path(base) if isinstance(base, str) else base
            self._bound_task_class = type(
                base.__name__, (base,), {"_app": self, "__module__": base.__module__}
            )
        return self._bound_task_class

    @Task.setter
    def Task(self, base: Any) -> None:  # noqa: N802
        self._task_class, self._bound_task_class = base, None

    @property
    def tasks(self) -> TaskRegistry:
        """The tasks by name; reading it finalizes the application."""
        self.finalize(auto=True)
        return self._tasks

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
        task = definition.make_task(self, function, name, base or self.Task, bind, options)
        self._tasks[name] = task
        task.bind(self)
        add_autoretry(task, options)
        return task

    def copy_task(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
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
            definition.warn_duplicate(instance.name, existing, instance, "The new one replaces it.")
        definition.refuse_options(cls, instance.name)
        definition.refuse_coroutines(instance.name, instance.run)
        self._tasks[instance.name] = instance
        instance.bind(self)
        add_autoretry(instance, options)
        return instance

    def gen_task_name(self, name: str, module: str) -> str:
        """Return the name of a task that was given none; may be overridden."""
        return definition.generated_name(self.main, name, module)

    def finalize(self, auto: bool = False) -> None:
        """Make every task that was only declared so far, and copies of the shared ones.

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
            while self._pending:
                maybe_evaluate(self._pending.popleft())
            _state.announce_app_finalized(self)

    # -- modules

    def autodiscover_tasks(
        self, packages: Packages = None, related_name: str | None = "tasks", force: bool = False
    ) -> None:
        """Import `<package>.<related_name>` of each package when a worker starts, or now (`force`).

        Without packages those of Django's installed apps are meant.
        """
        discovery = Discovery(self._installed_packages if packages is None else packages, related_name)
        if force:
            import_task_modules((), [discovery])
        else:
            self._discoveries.append(discovery)

    def _installed_packages(self) -> list[str]:
        return [package for fixup in self._fixups for package in fixup.autodiscover_tasks()]

    def import_default_modules(self, more: Iterable[str] = ()) -> list[str]:
        """Import `include`, `imports`, `more` and what was to be discovered; returns the modules' names."""
        conf = self.conf
        for fixup in self._fixups:
            fixup.before_imports()
        names = (*_as_tuple(conf.imports), *_as_tuple(conf.include), *more)
        return import_task_modules(names, self._discoveries)

    @property
    def fixups(self) -> list[framework_fixups.Fixup]:
        """What this application does because of a framework, such as Django."""
        return self._fixups

    @cached_property
    def WorkController(self) -> Any:  # noqa: N802 - the name is Celery's
        """The class of workers that belong to this application."""
        from river_compat.celery.worker import WorkController as Base

        return type("WorkController", (Base,), {"app": self, "__module__": Base.__module__})

    @property
    def Worker(self) -> Any:  # noqa: N802 - the name is Celery's
        """The same class."""
        return self.WorkController

    # -- sending and results

    def send_task(self, name: str, args: Any = None, kwargs: Any = None, **options: Any) -> AsyncResult[Any]:
        """Send a task by name, whether or not it is registered here; options as for `apply_async`."""
        if self.conf.task_always_eager:
            warnings.warn(AlwaysEagerIgnored("send_task ignores task_always_eager"), stacklevel=2)
        task = self._tasks.get(name)
        if task is not None:
            options = {**task_options(task), **options}
        return send(self, name, args, kwargs, task, options)

    @cached_property
    def AsyncResult(self) -> Any:  # noqa: N802 - the name is Celery's
        """The class of result handles that belong to this application."""
        return type("AsyncResult", (AsyncResult,), {"app": self, "__module__": AsyncResult.__module__})

    def signature(self, *args: Any, **kwargs: Any) -> Any:
        """Return a signature that belongs to this application."""
        kwargs["app"] = self
        return canvas.signature(*args, **kwargs)

    @property
    def canvas(self) -> Any:
        """The names of `celery.canvas`."""
        return canvas

    @property
    def thread_oid(self) -> str:
        """An id of this thread in this application."""
        if not hasattr(self._thread, "oid"):
            self._thread.oid = str(uuid.uuid4())
        oid: str = self._thread.oid
        return oid

    @cached_property
    def GroupResult(self) -> Any:  # noqa: N802 - the name is Celery's
        """The class of group results that belong to this application."""
        return type("GroupResult", (GroupResult,), {"_app": self, "__module__": GroupResult.__module__})

    @cached_property
    def ResultSet(self) -> Any:  # noqa: N802 - the name is Celery's
        """The class of result sets that belong to this application."""
        return type("ResultSet", (ResultSet,), {"_app": self, "__module__": ResultSet.__module__})

    if not TYPE_CHECKING:  # type checkers report a missing attribute themselves

        def __getattr__(self, name: str) -> Any:
            """Refuse by name the attributes of Celery's application that are not here."""
            refuse_attribute(self, name)

    def __repr__(self) -> str:
        """Show the name."""
        return f"<{type(self).__name__} {self.main or '__main__'} at {id(self):#x}>"


def _as_tuple(names: Iterable[str] | str | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)
