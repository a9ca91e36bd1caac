"""The exceptions of `celery.exceptions`: the same names and the same bases.

Exception
├── CeleryError
│   ├── TaskPredicate               raised to direct the worker: Ignore, Reject, Retry
│   ├── ImproperlyConfigured
│   │   └── UnsupportedFeature      ours: what is refused, with the way out; UnsupportedAttribute (an
│   │                               AttributeError) and UnsupportedImport (an ImportError) below it
│   ├── SecurityError
│   └── TaskError                   QueueNotFound, NotRegistered (both KeyErrors), TimeoutError, …
├── BackendError                    BackendGetMetaError, BackendStoreError
├── OperationalError                kombu's: the database does not answer
└── TimeLimitExceeded, SoftTimeLimitExceeded, WorkerLostError, Terminated   billiard's where installed
Warning
└── CeleryWarning                   AlwaysEagerIgnored, DuplicateTaskNameWarning, …
SystemExit
└── WorkerShutdown, WorkerTerminate
"""

# ruff: noqa: N818 - the names are Celery's

from __future__ import annotations

import numbers
from datetime import datetime
from types import TracebackType
from typing import Any, NoReturn

from click import ClickException
from kombu.exceptions import OperationalError

from river_compat.celery import backend_errors, refusals, warning_classes
from river_compat.celery.backend_errors import (
    BackendError as BackendError,
)
from river_compat.celery.backend_errors import (
    BackendGetMetaError as BackendGetMetaError,
)
from river_compat.celery.backend_errors import (
    BackendStoreError as BackendStoreError,
)
from river_compat.celery.refusals import (
    LATER as LATER,
)
from river_compat.celery.refusals import (
    CeleryError as CeleryError,
)
from river_compat.celery.refusals import (
    ImproperlyConfigured as ImproperlyConfigured,
)
from river_compat.celery.refusals import (
    UnsupportedAttribute as UnsupportedAttribute,
)
from river_compat.celery.refusals import (
    UnsupportedFeature as UnsupportedFeature,
)
from river_compat.celery.refusals import (
    UnsupportedImport as UnsupportedImport,
)
from river_compat.celery.refusals import (
    unsupported as unsupported,
)
from river_compat.celery.refusals import (
    unsupported_text as unsupported_text,
)
from river_compat.celery.utils.serialization import get_pickleable_exception
from river_compat.celery.warning_classes import (
    AlwaysEagerIgnored as AlwaysEagerIgnored,
)
from river_compat.celery.warning_classes import (
    CDeprecationWarning as CDeprecationWarning,
)
from river_compat.celery.warning_classes import (
    CeleryWarning as CeleryWarning,
)
from river_compat.celery.warning_classes import (
    CPendingDeprecationWarning as CPendingDeprecationWarning,
)
from river_compat.celery.warning_classes import (
    DuplicateNodenameWarning as DuplicateNodenameWarning,
)
from river_compat.celery.warning_classes import (
    DuplicateTaskNameWarning as DuplicateTaskNameWarning,
)
from river_compat.celery.warning_classes import (
    FixupWarning as FixupWarning,
)
from river_compat.celery.warning_classes import (
    NotConfigured as NotConfigured,
)
from river_compat.celery.warning_classes import (
    SecurityWarning as SecurityWarning,
)
from river_compat.shortened import short_repr

try:
    from billiard.exceptions import SoftTimeLimitExceeded, Terminated, TimeLimitExceeded, WorkerLostError
except ImportError:
    from river_compat.celery.limits import (
        SoftTimeLimitExceeded,
        Terminated,
        TimeLimitExceeded,
        WorkerLostError,
    )

__all__ = [
    "AlreadyRegistered",
    "AlwaysEagerIgnored",
    "BackendError",
    "BackendGetMetaError",
    "BackendStoreError",
    "CDeprecationWarning",
    "CPendingDeprecationWarning",
    "CeleryCommandException",
    "CeleryError",
    "CeleryWarning",
    "ChordError",
    "DuplicateNodenameWarning",
    "DuplicateTaskNameWarning",
    "FixupWarning",
    "Ignore",
    "ImproperlyConfigured",
    "IncompleteStream",
    "InvalidTaskError",
    "MaxRetriesExceededError",
    "NotConfigured",
    "NotRegistered",
    "OperationalError",
    "QueueNotFound",
    "Reject",
    "Retry",
    "SecurityError",
    "SecurityWarning",
    "SoftTimeLimitExceeded",
    "TaskError",
    "TaskPredicate",
    "TaskRevokedError",
    "Terminated",
    "TimeLimitExceeded",
    "TimeoutError",
    "UnsupportedAttribute",
    "UnsupportedFeature",
    "UnsupportedImport",
    "WorkerLostError",
    "WorkerShutdown",
    "WorkerTerminate",
    "reraise",
]


class TaskPredicate(CeleryError):
    """Base of what a task raises to direct the worker."""


class Retry(TaskPredicate):
    """The task runs again later; raised by `self.retry()`.

    `exc` is the error behind it, `when` the seconds or the time, `sig` the call that was scheduled.
    """

    message: str | None = None
    exc: BaseException | None = None
    when: float | datetime | None = None

    def __init__(
        self,
        message: str | None = None,
        exc: BaseException | str | None = None,
        when: float | datetime | None = None,
        is_eager: bool = False,
        sig: Any = None,
        **kwargs: Any,
    ) -> None:
        """Keep the facts; `exc` may be text when only that is known."""
        self.message = message
        self.exc = None if isinstance(exc, str) else get_pickleable_exception(exc)
        self.excs = exc if isinstance(exc, str) else (short_repr(exc) if exc else None)
        self.when = when
        self.is_eager = is_eager
        self.sig = sig
        super().__init__(self, exc, when, **kwargs)

    def humanize(self) -> str:
        """Return `in 3s` or `at <time>`."""
        return f"in {self.when}s" if isinstance(self.when, numbers.Number) else f"at {self.when}"

    def __str__(self) -> str:
        """Return the message, or when and why."""
        if self.message:
            return self.message
        return f"Retry {self.humanize()}: {self.excs}" if self.excs else f"Retry {self.humanize()}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the scheduled call."""
        return type(self), (self.message, self.exc, self.when)


RetryTaskError = Retry


class Ignore(TaskPredicate):
    """The task ends without a state."""


class Reject(TaskPredicate):
    """The task refuses its message; with `requeue` it is given back to the queue."""

    def __init__(self, reason: Any = None, requeue: bool = False) -> None:
        """Keep reason and wish."""
        self.reason = reason
        self.requeue = requeue
        super().__init__(reason, requeue)

    def __repr__(self) -> str:
        """Return what the log line shows."""
        return f"reject requeue={self.requeue}: {self.reason}"


class SecurityError(CeleryError):
    """Something that must not be trusted."""


class TaskError(CeleryError):
    """Base of the errors about tasks."""


class QueueNotFound(KeyError, TaskError):
    """A task was sent to a queue that the settings do not know."""


class IncompleteStream(TaskError):
    """A result was read that is not complete."""


UNREGISTERED_FMT = "Task {0} is not registered; import the module that defines it."


class NotRegistered(KeyError, TaskError):
    """The task is not registered."""

    def __repr__(self) -> str:
        """Say what to do."""
        return UNREGISTERED_FMT.format(self)


class AlreadyRegistered(TaskError):
    """The task is registered already."""


class TimeoutError(TaskError):  # noqa: A001 - the name applications import; it is not the builtin
    """The result did not arrive in time."""


class MaxRetriesExceededError(TaskError):
    """The task was retried as often as it may be."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Keep the call's arguments, given as `task_args` and `task_kwargs`."""
        self.task_args = kwargs.pop("task_args", [])
        self.task_kwargs = kwargs.pop("task_kwargs", {})
        super().__init__(*args, **kwargs)


class TaskRevokedError(TaskError):
    """The task was revoked or expired, so there is no result."""


class InvalidTaskError(TaskError):
    """The message is no proper task."""


class ChordError(TaskError):
    """A member of a chord failed."""


class WorkerTerminate(SystemExit):
    """The worker ends at once."""


SystemTerminate = WorkerTerminate


class WorkerShutdown(SystemExit):
    """The worker ends when its tasks are done."""


class CeleryCommandException(ClickException):
    """A command failed with an exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        """Keep message and exit code."""
        super().__init__(message=message)
        self.exit_code = exit_code  # type: ignore[misc]  # click's is a class variable


def reraise(tp: type[BaseException], value: BaseException, tb: TracebackType | None = None) -> NoReturn:
    """Raise `value` with the given traceback; `tp` is its type, as `sys.exc_info()` gives it."""
    del tp
    raise value if value.__traceback__ is tb else value.with_traceback(tb)


for _class in [value for value in vars().values() if isinstance(value, type)]:
    if _class.__module__ in (backend_errors.__name__, refusals.__name__, warning_classes.__name__):
        _class.__module__ = __name__  # stored exceptions and filters of warnings name this module
