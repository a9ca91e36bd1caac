"""The application: its settings, its tasks, and what belongs to it (`celery.app.base`)."""

from __future__ import annotations

import threading
import uuid
import warnings
from collections.abc import Iterable
from functools import cached_property
from types import GenericAlias, TracebackType
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state, canvas
from river_compat.celery import fixups as framework_fixups
from river_compat.celery.app import database, pickling
from river_compat.celery.app.command_line import CommandLine
from river_compat.celery.app.configuration import Configuration
from river_compat.celery.app.connections import Connections
from river_compat.celery.app.declaring import AnyTask, Declaring
from river_compat.celery.app.log import Logging
from river_compat.celery.app.modules import Discovery, TaskModules
from river_compat.celery.app.own_classes import OwnClasses
from river_compat.celery.app.periodic import Periodic
from river_compat.celery.app.remote import Remote
from river_compat.celery.app.settings import Settings
from river_compat.celery.async_result import AsyncResult
from river_compat.celery.backend import RowBackend
from river_compat.celery.exceptions import AlwaysEagerIgnored, unsupported
from river_compat.celery.not_yet import refuse_attribute
from river_compat.celery.options import queue_name
from river_compat.celery.own_ways import own
from river_compat.celery.refused_names import refusing
from river_compat.celery.sending import send, task_options
from river_compat.runtime import Runtime
from river_core.forking import in_forked_child

OID = str(uuid.uuid4())
"""What tells this process's clients from others, as Celery's reply queues do."""


class Celery(Configuration, Declaring, TaskModules, OwnClasses, Connections, Periodic, Remote, CommandLine):
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
        self._refuse_parts(amqp=amqp, control=control, events=events, fixups=fixups, log=log)
        self.main = main
        self.namespace = namespace
        self.autofinalize = autofinalize
        self.strict_typing = strict_typing
        self._thread = threading.local()
        self._timezone: Any = None
        self._loader_given = loader
        self._discoveries: list[Discovery] = []
        self._start_signals()
        self._start_tasks(tasks, task_cls)
        given = {"broker_url": broker, "result_backend": backend, "include": _as_tuple(include)}
        set_by_us = {name: value for name, value in given.items() if value}
        explicit = {**(changes or {}), **settings}
        self.conf = Settings(explicit, set_by_us, self._before_load, self._after_load)
        self._use_loader_configuration()
        if config_source is not None:
            self.conf.use_source(config_source, silent=False, namespace=namespace)
        self.runtime = self._make_runtime()
        self.backend = RowBackend(self)
        self._fixups = framework_fixups.install(self)
        if set_as_current:
            self.set_current()
        _state.register_app(self)
        in_forked_child(self._after_fork)
        self.on_init()

    def on_init(self) -> None:
        """Called when the application was made; may be overridden."""

    def _make_runtime(self) -> Runtime:
        return Runtime(
            lambda: database.open_database(self.conf),
            lambda: self.conf.river_queue_names == "lenient",
            lambda: bool(self.conf.river_poll_only),
            lambda: bool(self.conf.river_notify_inserts),
            lambda: bool(self.conf.river_durable_inserts),
            lambda: self.conf.river_plugins,
        )

    def _after_fork(self) -> None:
        self.on_after_fork.send(sender=self)

    if not TYPE_CHECKING:  # Celery[MyTask] names the class of its tasks for type checkers only
        __class_getitem__ = classmethod(GenericAlias)

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

    @cached_property
    def log(self) -> Logging:
        """Sets logging up as the settings say."""
        return Logging(self)

    @property
    def current_task(self) -> AnyTask | None:
        """The task that runs here, or None."""
        return _state.get_current_task()

    @property
    def current_worker_task(self) -> AnyTask | None:
        """The task that runs here and was not just called as a function, or None."""
        frame = _state.get_current_worker_frame()
        return frame.task if frame is not None else None

    # -- facts for sending and working

    def queue_names(self) -> list[str]:
        """Return the queues that the settings name: `task_queues`, or the default queue."""
        queues = self.conf.task_queues or (self.conf.task_default_queue,)
        return [name for queue in queues if (name := queue_name(queue))]

    def at_most_once(self, task: AnyTask | None) -> bool:
        """Whether a crash ends a row for good: `acks_late` was set to False on purpose."""
        if task is not None and task.acks_late_of_task is not None:
            return not task.acks_late_of_task
        return not self.conf.task_acks_late and self.conf.is_set("task_acks_late")

    @property
    def fixups(self) -> list[framework_fixups.Fixup]:
        """What this application does because of a framework, such as Django."""
        return self._fixups

    @property
    def oid(self) -> str:
        """What tells this process from other senders."""
        return OID

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by settings."""
        return pickling.reduced(self)

    def __reduce_keys__(self) -> dict[str, Any]:
        """Return the keywords that a pickle makes the application of; may be overridden."""
        return pickling.keywords(self)

    def __reduce_args__(self) -> tuple[Any, ...]:
        """Return the same by position, for subclasses written for Celery 3."""
        return tuple(pickling.keywords(self).values())

    # -- sending and results

    @own
    def send_task(self, name: str, args: Any = None, kwargs: Any = None, **options: Any) -> AsyncResult[Any]:
        """Send a task by name, whether or not it is registered here; options as for `apply_async`.

        Every call of a task ends here, with the task as `task_type` and its options among the others.
        """
        task = options.pop("task_type", None)
        if task is not None:
            return send(self, name, args, kwargs, task, options)
        if self.conf.task_always_eager:
            warnings.warn(AlwaysEagerIgnored("send_task ignores task_always_eager"), stacklevel=2)
        task = self._tasks.get(name)
        if task is not None:
            options = {**task_options(task), **options}
        return send(self, name, args, kwargs, task, options)

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


App = Celery

if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
