"""What is current: the application of a thread, the task that runs, the waits that are allowed.

Celery promises these as process-wide names, so this is the one module of the package with state of
its own. The running task is kept per thread and per coroutine.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from river_compat.celery.local import Proxy
from river_compat.celery.refused_names import refusing

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.app.task import Task
    from river_compat.celery.request import Context

    AnyTask = Task[..., Any]


class Frame:
    """One entry of the stack of running tasks, linked to the one below it."""

    __slots__ = ("below", "entered", "in_worker", "request", "task")

    def __init__(self, task: AnyTask, request: Context, entered: bool, in_worker: bool) -> None:
        """`entered` is False for a request that was only pushed, `in_worker` True in a worker's slot."""
        self.task = task
        self.request = request
        self.entered = entered
        self.in_worker = in_worker
        self.below: Frame | None = None


class _Applications:
    """The applications of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.default: Celery | None = None
        self.fallback: Celery | None = None
        self.latest: weakref.ref[Celery] | None = None
        self.thread: Any = threading.local()
        self.all: weakref.WeakSet[Celery] = weakref.WeakSet()
        self.on_finalize: dict[Any, Callable[[Celery], Any]] = {}


_apps = _Applications()
_stack: ContextVar[Frame | None] = ContextVar("river_celery_task_stack", default=None)
_join_allowed: ContextVar[bool | None] = ContextVar("river_celery_join_allowed", default=None)


def push(frame: Frame) -> None:
    """Put a frame on top of the stack."""
    frame.below = _stack.get()
    _stack.set(frame)


def pop() -> None:
    """Take the top frame off the stack."""
    top = _stack.get()
    _stack.set(top.below if top is not None else None)


def start_clean() -> None:
    """Forget frames of an earlier task that an interruption kept from being taken off."""
    _stack.set(None)


def top_frame() -> Frame | None:
    """Return the frame of the innermost running task, or None."""
    frame = _stack.get()
    while frame is not None and not frame.entered:
        frame = frame.below
    return frame


def top_request(task: AnyTask) -> Context | None:
    """Return the innermost request of one task, or None."""
    frame = _stack.get()
    while frame is not None:
        if frame.task is task:
            return frame.request
        frame = frame.below
    return None


def pop_request(task: AnyTask) -> None:
    """Take the innermost frame of one task off the stack."""
    frame, above = _stack.get(), None
    while frame is not None and frame.task is not task:
        frame, above = frame.below, frame
    if frame is None:
        return
    if above is None:
        _stack.set(frame.below)
    else:
        above.below = frame.below


def get_current_task() -> AnyTask | None:
    """Return the task that runs in this thread or coroutine, or None."""
    frame = top_frame()
    return frame.task if frame is not None else None


def get_current_worker_frame() -> Frame | None:
    """Return the innermost frame whose task was not just called as a function."""
    frame = _stack.get()
    while frame is not None and (not frame.entered or frame.request.called_directly):
        frame = frame.below
    return frame


def get_current_worker_task() -> AnyTask | None:
    """Return the task that a worker, or `apply`, runs: not one that it has called as a function."""
    frame = get_current_worker_frame()
    return frame.task if frame is not None else None


class TaskStack:
    """The running tasks, innermost last, for code that pushes one itself."""

    def push(self, obj: AnyTask) -> None:
        """Make a task the current one."""
        from river_compat.celery.request import Context

        push(Frame(obj, Context(), entered=True, in_worker=False))

    def pop(self) -> AnyTask | None:
        """Return to the task before; returns the one that was current."""
        task = get_current_task()
        pop()
        return task

    @property
    def top(self) -> AnyTask | None:
        """The current task, or None."""
        return get_current_task()


class RequestStack:
    """The requests of one task, innermost last."""

    def __init__(self, task: AnyTask) -> None:
        """Belong to a task."""
        self._task = task

    def push(self, request: Context) -> None:
        """Let `task.request` be this one."""
        push(Frame(self._task, request, entered=False, in_worker=False))

    def pop(self) -> Context | None:
        """Forget the innermost request and return it."""
        request = self.top
        pop_request(self._task)
        return request

    @property
    def top(self) -> Context | None:
        """The innermost request, or None."""
        return top_request(self._task)


def register_app(app: Celery) -> None:
    """Remember a new application for shared tasks."""
    _apps.all.add(app)


def deregister_app(app: Celery) -> None:
    """Forget an application that was closed."""
    _apps.all.discard(app)
    if _apps.default is app:
        _apps.default = None
    if _latest() is app:
        _apps.latest = None
    if getattr(_apps.thread, "app", None) is app:
        _apps.thread.app = None


def set_current_app(app: Celery) -> None:
    """Make `app` the current one of this thread."""
    _apps.thread.app = app
    _apps.latest = weakref.ref(app)


def set_default_app(app: Celery | None) -> None:
    """Make `app` the one of threads that have none of their own."""
    _apps.default = app


def get_current_app() -> Celery:
    """Return the thread's application, else that of the running task, the default, or the latest.

    Celery makes a fresh one before it looks at the latest; here a task that is sent from another
    thread must not end up in a database that nobody named.
    """
    app: Celery | None = getattr(_apps.thread, "app", None)
    if app is not None:
        return app
    frame = top_frame()
    if frame is not None:
        running: Celery = frame.task.app
        return running
    return _apps.default or _latest() or _fallback()


def get_default_app() -> Celery:
    """Return the application of threads that have none of their own."""
    return _apps.default or _latest() or _fallback()


def _latest() -> Celery | None:
    return _apps.latest() if _apps.latest is not None else None


def _fallback() -> Celery:
    from river_compat.celery.app.base import Celery

    with _apps.lock:
        if _apps.fallback is None:
            _apps.fallback = Celery("default", set_as_current=False)
        return _apps.fallback


@contextmanager
def kept_applications(current: Any = None) -> Iterator[None]:
    """Put the applications of process and thread back at the end; `current` is everybody's meanwhile."""
    kept = (_apps.default, _apps.latest, getattr(_apps.thread, "app", None), dict(_apps.on_finalize))
    if current is not None:
        _apps.default, _apps.thread = current, _Everywhere(current)
    try:
        yield
    finally:
        if current is not None:
            _apps.thread = threading.local()
        _apps.default, _apps.latest, _apps.thread.app, _apps.on_finalize = kept


class _Everywhere:
    """Takes the place of what each thread knows."""

    def __init__(self, app: Any) -> None:
        self.app = app


def connect_on_app_finalize(callback: Callable[[Celery], Any], key: Any = None) -> None:
    """Call back for every application that is finalized from now on.

    Of several callbacks with one key only the latest counts: a module that is imported again defines
    its tasks anew.
    """
    _apps.on_finalize[callback if key is None else key] = callback


def definition_key(function: Callable[..., Any], name: str | None) -> tuple[str, str, str | None]:
    """Return what tells a definition of a task from others: where the function is, and its name."""
    return function.__module__, getattr(function, "__qualname__", function.__name__), name


def announce_app_finalized(app: Celery) -> None:
    """Let every shared task make its copy in `app`."""
    for callback in list(_apps.on_finalize.values()):
        callback(app)


def live_apps() -> list[Celery]:
    """Return the applications of this process that were not closed."""
    return list(_apps.all)


def join_will_block() -> bool:
    """Whether waiting for a result here may block a worker for ever."""
    allowed = _join_allowed.get()
    if allowed is not None:
        return not allowed
    frame = top_frame()
    return frame is not None and frame.in_worker


task_join_will_block = join_will_block


@contextmanager
def join_allowed(allowed: bool) -> Iterator[None]:
    """Allow or deny waiting for results while the block runs."""
    token = _join_allowed.set(allowed)
    try:
        yield
    finally:
        _join_allowed.reset(token)


current_app: Any = Proxy(get_current_app)
current_task: Any = Proxy(get_current_task)
_task_stack = TaskStack()
push_current_task = _task_stack.push
pop_current_task = _task_stack.pop


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
