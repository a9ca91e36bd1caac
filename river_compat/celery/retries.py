"""When a task runs again: back-off, automatic retries, and what the next run inherits.

The formulae are Celery 5.7's. The limit that `retry(max_retries=)` sets is kept in the request, so
that tasks running side by side do not see each other's.
"""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from river_compat.celery.control_flow import carries_control_flow
from river_compat.celery.exceptions import CeleryWarning, Ignore, Reject, Retry

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task

DEFAULT_BACKOFF_MAX = 600
OVERRIDE = "_max_retries_of_call"


def get_exponential_backoff_interval(
    factor: int, retries: int, maximum: int, full_jitter: bool = False
) -> int:
    """Return the seconds before retry number `retries` (0 first): factor * 2^retries, capped.

    With `full_jitter` any whole number from 0 to that is as likely as any other.
    """
    seconds: int = min(maximum, factor * (2**retries))
    if full_jitter:
        seconds = random.randrange(seconds + 1)  # noqa: S311 - spreads load, no secret
    return max(0, seconds)


@dataclass(frozen=True, slots=True)
class Autoretry:
    """The options of automatic retries of one task."""

    retried: tuple[type[BaseException], ...]
    excepted: tuple[type[BaseException], ...]
    backoff: float
    backoff_max: int
    jitter: bool
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, task: Task[..., Any], options: Mapping[str, Any]) -> Autoretry:
        """Read them from decorator options, else from the task's attributes."""

        def option(name: str, default: Any) -> Any:
            return options.get(name, getattr(task, name, default))

        return cls(
            retried=tuple(option("autoretry_for", ())),
            excepted=tuple(option("dont_autoretry_for", ())),
            backoff=float(option("retry_backoff", False)),
            backoff_max=int(option("retry_backoff_max", DEFAULT_BACKOFF_MAX)),
            jitter=option("retry_jitter", True),
            arguments=option("retry_kwargs", {}),
        )

    def call_arguments(self, task: Task[..., Any], retry_kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for `task.retry()` after a failure of its current request."""
        arguments = dict(retry_kwargs)
        request = task.request
        if self.backoff:
            arguments["countdown"] = get_exponential_backoff_interval(
                int(max(1.0, self.backoff)), request.retries, self.backoff_max, self.jitter
            )
        if OVERRIDE in request.__dict__:
            arguments["max_retries"] = request.__dict__[OVERRIDE]
        return arguments


def add_autoretry(task: Task[..., Any], options: Mapping[str, Any]) -> None:
    """Make `task.run` retry by itself where its options or attributes ask for it; harmless twice.

    Ignore, Retry, Reject and River's control flow pass. Warns when the first delay is above the cap.
    """
    rule = Autoretry.of(task, options)
    if not rule.retried or hasattr(task, "_orig_run"):
        return
    if rule.backoff > rule.backoff_max:
        warnings.warn(
            CeleryWarning(
                f"task {task.name}: retry_backoff={rule.backoff:g} is above "
                f"retry_backoff_max={rule.backoff_max}, so every retry waits {rule.backoff_max} s; "
                "raise retry_backoff_max"
            ),
            stacklevel=4,
        )
    original = task.run
    task.__dict__["_orig_run"] = original
    task.__dict__["run"] = _retrying(task, original, rule)


def _retrying(task: Task[..., Any], original: Callable[..., Any], rule: Autoretry) -> Callable[..., Any]:
    retry_kwargs = rule.arguments

    @wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except (Ignore, Retry, Reject):
            raise
        except rule.excepted:
            raise
        except rule.retried as error:
            if carries_control_flow(error):
                raise
            raise task.retry(exc=error, **rule.call_arguments(task, retry_kwargs)) from None

    return run


def merged_arguments(
    run: Callable[..., Any],
    inherited: tuple[Any, Mapping[str, Any]],
    given: tuple[Any, Mapping[str, Any] | None],
) -> tuple[Any, Mapping[str, Any]]:
    """Return positional and keyword arguments of the next run.

    What `retry(args=, kwargs=)` gave replaces what the request had. A value given one way drops the
    same parameter inherited the other way (Celery 5.7).
    """
    old_args, old_kwargs = inherited[0] or (), inherited[1] or {}
    args, kwargs = given
    if args is None and kwargs is None:
        return old_args, old_kwargs
    signature = _signature(run)
    if args is not None and kwargs is None:
        return args, _without_positional(signature, len(args), old_kwargs)
    if args is None and kwargs is not None:
        return _replaced_by_keyword(signature, old_args, kwargs)
    return args, kwargs or {}


def _signature(run: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(run)
    except (TypeError, ValueError):
        return None


def _without_positional(
    signature: inspect.Signature | None, count: int, kwargs: Mapping[str, Any]
) -> Mapping[str, Any]:
    if signature is None or not kwargs:
        return kwargs
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [item for item in signature.parameters.values() if item.kind in kinds][:count]
    taken = {item.name for item in positional if item.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return {name: value for name, value in kwargs.items() if name not in taken}


def _replaced_by_keyword(
    signature: inspect.Signature | None, args: Any, kwargs: Mapping[str, Any]
) -> tuple[Any, Mapping[str, Any]]:
    if signature is None or not args:
        return args, kwargs
    try:
        bound = signature.bind_partial(*args)
    except TypeError:
        return args, kwargs
    rest = dict(kwargs)
    for name in kwargs:
        parameter = signature.parameters.get(name)
        if name in bound.arguments and parameter and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            bound.arguments[name] = rest.pop(name)
    return bound.args, {**bound.kwargs, **rest}
