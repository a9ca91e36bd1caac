"""`Task`: what an application's tasks are made of (`celery.app.task`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, ParamSpec, TypeVar

from river_compat.celery import _state, known_calls
from river_compat.celery.app.binding import Binding
from river_compat.celery.app.composing import Composing, is_waiting
from river_compat.celery.app.handlers import Handlers
from river_compat.celery.app.registry import _unpickle_task_v2
from river_compat.celery.awaited_sending import send_awaited
from river_compat.celery.eager import apply, apply_as_sent
from river_compat.celery.exceptions import (
    MaxRetriesExceededError,
    OperationalError,
)
from river_compat.celery.own_ways import own
from river_compat.celery.refused_names import lacking, refusing
from river_compat.celery.request import Context
from river_compat.celery.retries import OVERRIDE, merged_arguments
from river_compat.celery.sending import task_options
from river_compat.celery.successor import Successor, raise_with_context, schedule, successor_of
from river_compat.celery.ways_out import EVENTS, HANDLERS

if TYPE_CHECKING:
    from river_compat.celery.async_result import AsyncResult
    from river_compat.celery.eager_result import EagerResult

__all__ = ["Context", "Task"]

P = ParamSpec("P")
R = TypeVar("R")


NOT_GIVEN: dict[str, Any] = dict.fromkeys(
    (
        "compression",
        "delivery_mode",
        "exchange",
        "expires",
        "immediate",
        "mandatory",
        "priority",
        "queue",
        "routing_key",
        "serializer",
        "soft_time_limit",
        "time_limit",
    )
)
"""Options that an application's own `send_task` may rely on to be there, as Celery passes them."""


@lacking(HANDLERS, "Request Strategy start_strategy")
@lacking(EVENTS, "send_event")
@lacking("options are class attributes, and settings are read at each use", "from_config")
class Task(Composing, Binding, Handlers, Generic[P, R]):
    """A task. Decorated functions become instances of it; a class of its own defines `run`.

    Attributes are options: what a class sets holds for all of its calls, `apply_async` may differ.
    """

    MaxRetriesExceededError = MaxRetriesExceededError
    OperationalError = OperationalError

    name: Any = None
    typing: bool | None = None
    max_retries: int | None = 3
    default_retry_delay: float = 3 * 60
    ignore_result: bool | None = None
    store_errors_even_if_ignored: bool | None = None
    trail: bool = True
    send_events: bool = True
    serializer: str | None = None
    track_started: bool | None = None
    acks_late: bool | None = None
    reject_on_worker_lost: bool | None = None
    throws: tuple[type[BaseException], ...] = ()
    expires: Any = None
    priority: int | None = None
    queue: str | None = None
    river_delete_row: bool = False
    """Whether the row of a call that succeeds is deleted; only for tasks whose results are ignored."""
    river_enqueue_in: str | None = None
    """Which transaction calls join, as the setting of the same name; None leaves it to that."""
    compression: str | None = None
    acks_on_failure: bool | None = None
    acks_on_failure_or_timeout: bool | None = None
    acks_on_timeout: bool | None = None
    retry_on_worker_lost: bool | None = None
    store_eager_result: bool | None = None
    rate_limit: str | None = None
    time_limit: float | None = None
    soft_time_limit: float | None = None
    resultrepr_maxsize: int = 1024
    abstract: ClassVar[bool] = True

    acks_late_of_task: bool | None = None
    """What the task itself says about `acks_late`, None where it says nothing."""

    known_call: known_calls.KnownCall | None = None
    """What `apply_async` remembers of an earlier call that was given arguments alone."""
    _default_request: Context | None = None
    _dump_arguments: Any = None
    """Makes plain values of models among the arguments of a call, for tasks with `pydantic=True`."""

    if not TYPE_CHECKING:  # Task[[int], str] lists the types as they were given
        __class_getitem__ = classmethod(GenericAlias)

    # -- belonging to an application

    @property
    def backend(self) -> Any:
        """Where results are: the rows of the application's database."""
        return self.app.backend

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a name, which is looked up again in the current application."""
        module = type(self).__module__
        return _unpickle_task_v2, (self.name, module if module in sys.modules else None)

    def __repr__(self) -> str:
        """Show name and application."""
        compat = " (v2 compatible)" if getattr(self, "__v2_compat__", False) else ""
        return f"<@task: {self.name} of {self.app.main or '__main__'}{compat}>"

    # -- running

    def run(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Do the work. Every task defines it; the base class raises NotImplementedError, as Celery's does."""
        raise NotImplementedError("a task must define run()")

    @property
    def request(self) -> Context:
        """The facts about the call that runs here; defaults outside of one."""
        request = _state.top_request(self)
        if request is not None:
            return request
        if self._default_request is None:
            self._default_request = Context()
        return self._default_request

    @property
    def request_stack(self) -> _state.RequestStack:
        """The requests of this task, innermost last."""
        return _state.RequestStack(self)

    def push_request(self, *args: Any, **kwargs: Any) -> None:
        """Make up a request, for tests."""
        _state.push(_state.Frame(self, Context(*args, **kwargs), entered=False, in_worker=False))

    def pop_request(self) -> None:
        """Forget the innermost request."""
        _state.pop_request(self)

    # -- calling

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> AsyncResult[R]:
        """Send the task with these arguments."""
        return self.apply_async(args, kwargs)

    @own
    def apply_async(
        self,
        args: Any = None,
        kwargs: Mapping[str, Any] | None = None,
        task_id: str | None = None,
        producer: Any = None,
        link: Any = None,
        link_error: Any = None,
        shadow: str | None = None,
        **options: Any,
    ) -> AsyncResult[R]:
        """Send the task; in an open transaction joined with `river_core.join` it is part of it.

        Raises TypeError for arguments that the task does not take or an option that looks misspelled,
        UnsupportedFeature, kombu's EncodeError and OperationalError; nothing is sent then.
        """
        app = self.app
        if self.soft_time_limit and self.time_limit and self.soft_time_limit > self.time_limit:
            raise ValueError("soft_time_limit must be less than or equal to time_limit")
        if (next_run := successor_of(task_id)) is not None:
            resent: AsyncResult[R] = next_run.sent(args, kwargs, {**options, "shadow": shadow})
            return resent
        check = getattr(self, "__header__", None)
        if self.typing and check is not None and not is_waiting(options):
            check(*(args or ()), **(kwargs or {}))
        is_bare = not (options or task_id or producer or link or link_error or shadow)
        if is_bare and (known := known_calls.sent(self, args, kwargs)) is not None:
            return known
        given = {"task_id": task_id, "producer": producer, "link": link, "link_error": link_error}
        merged = {**task_options(self), **options, **given}
        merged["shadow"] = shadow or self.shadow_name(args, kwargs, merged)
        if merged.get("ignore_result") is None:
            merged["ignore_result"] = bool(self.ignore_result)
        if self._dump_arguments is not None:
            serializer = merged.get("serializer") or app.conf.task_serializer
            args, kwargs = self._dump_arguments(args, kwargs, serializer)
        if app.conf.task_always_eager:
            return apply_as_sent(self, args, kwargs, merged)
        merged.setdefault("result_cls", self.AsyncResult)
        merged = {**NOT_GIVEN, **merged}
        sent: AsyncResult[R] = app.send_task(self.name, args, kwargs, task_type=self, **merged)
        if is_bare:
            known_calls.learn(self, merged)
        return sent

    async def aapply_async(
        self, args: Any = None, kwargs: Mapping[str, Any] | None = None, **options: Any
    ) -> AsyncResult[R]:
        """Send the task from a coroutine, beside its event loop; takes what `apply_async` takes.

        It joins the open transaction that `apply_async` would join, and writes at once into that of an
        async session or connection of SQLAlchemy. Raises what `apply_async` raises.
        """
        return await send_awaited(self, options, lambda: self.apply_async(args, kwargs, **options))

    async def adelay(self, *args: P.args, **kwargs: P.kwargs) -> AsyncResult[R]:
        """Send the task with these arguments from a coroutine."""
        return await self.aapply_async(args, kwargs)

    @own
    def shadow_name(self, args: Any, kwargs: Any, options: Mapping[str, Any]) -> str | None:
        """Return another name for log lines; may be overridden."""
        return None

    def apply(
        self,
        args: Any = None,
        kwargs: Mapping[str, Any] | None = None,
        link: Any = None,
        link_error: Any = None,
        task_id: str | None = None,
        retries: int | None = None,
        throw: bool | None = None,
        logfile: str | None = None,
        loglevel: int | None = None,
        headers: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> EagerResult[R]:
        """Run the task here and now as a worker would, retries included, and return its result.

        With `throw`, or the setting `task_eager_propagates`, its exceptions are raised.
        """
        raises = bool(self.app.conf.task_eager_propagates if throw is None else throw)
        fields = {"logfile": logfile, "loglevel": loglevel or 0, "headers": headers, "retries": retries or 0}
        fields |= {"link": link, "link_error": link_error}
        return apply(self, args or (), kwargs or {}, task_id, raises, {**options, **fields})

    def AsyncResult(self, task_id: str, **kwargs: Any) -> AsyncResult[R]:  # noqa: N802 - Celery's name
        """Return a handle for a result of this task."""
        result: AsyncResult[R] = self.app.AsyncResult(task_id, **kwargs)
        return result

    # -- retrying

    def retry(
        self,
        args: Any = None,
        kwargs: Mapping[str, Any] | None = None,
        exc: BaseException | None = None,
        throw: bool = True,
        eta: datetime | str | None = None,
        countdown: float | None = None,
        max_retries: int | None = None,
        **options: Any,
    ) -> Any:
        """Run the task again later; raises Retry, or returns it with `throw=False`.

        The next run is written in the transaction that ends this one. Raises `exc`, or
        MaxRetriesExceededError, when the task was retried `max_retries` times. Called outside of a
        worker it raises `exc` and schedules nothing.
        """
        request = self.request
        retries = request.retries + 1
        if max_retries is not None:
            request.__dict__[OVERRIDE] = max_retries
        limit = self.max_retries if max_retries is None else max_retries
        if request.called_directly:
            raise_with_context(exc)
        if not eta and countdown is None:
            countdown = self.default_retry_delay
        new_args, new_kwargs = merged_arguments(self.run, (request.args, request.kwargs), (args, kwargs))
        options = {**options, "countdown": countdown, "eta": eta, "retries": retries}
        next_run = Successor.of(self, request, new_args, new_kwargs, options)
        if limit is not None and retries > limit:
            self._raise_exceeded(exc, next_run)
        return schedule(next_run, exc, eta or countdown, throw)

    def _raise_exceeded(self, exc: BaseException | None, next_run: Successor) -> NoReturn:
        if exc is not None:
            raise_with_context(exc)
        raise self.MaxRetriesExceededError(
            f"Can't retry {self.name}[{next_run.task_id}] args:{next_run.args} kwargs:{next_run.kwargs}",
            task_args=next_run.args,
            task_kwargs=next_run.kwargs,
        )

    # -- state

    def update_state(
        self, task_id: str | None = None, state: str | None = None, meta: Any = None, **kwargs: Any
    ) -> None:
        """Report a state of your own, such as PROGRESS, with facts; visible to others at once."""
        request = self.request
        self.backend.store_state(task_id or request.id, state, meta, request)


BaseTask = Task


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
