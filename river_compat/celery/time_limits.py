"""The time limits of a task's run: of the call, else of the task, else of the worker."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from river_compat.celery.exceptions import ImproperlyConfigured, SoftTimeLimitExceeded
from river_core.task import Job

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task
    from river_compat.celery.request import Context

LIMITS = "python_task_limits"
"""Key that a claimed row is given on its way: the task's limits, where they were changed meanwhile."""

logger = logging.getLogger("celery.worker.request")


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Seconds after which a run is told, and ended; None is no limit."""

    soft: float | None = None
    hard: float | None = None

    def of(self, task: Task[..., Any], request: Context, changed: Sequence[Any] | None = None) -> TimeLimits:
        """Return the limits of one run, with these where neither call nor task says anything.

        `changed` are those that stand for the task's since the worker runs, the hard one first.
        """
        of_call = request.limits_of_call
        of_task = (task.time_limit, task.soft_time_limit)
        hard, soft = of_call if changed is None else _own(of_call, of_task)
        valid = of_task if changed is None else changed
        hard = hard or valid[0] or self.hard
        soft = soft or valid[1] or self.soft
        return TimeLimits(float(soft) if soft else None, float(hard) if hard else None)

    def begin(self, job: Job, task: Task[..., Any], request: Context) -> None:
        """Bound the run of a job from now on."""
        row = job.row
        limits = self.of(task, request, row.metadata[LIMITS] if LIMITS in row.encoded_metadata else None)
        if limits.soft is None and limits.hard is None:
            return
        soft = limits.soft
        if soft is not None and limits.hard is not None and soft >= limits.hard:
            logger.warning(
                "the soft time limit of %s[%s] (%g s) is not below the hard one (%g s) and does nothing",
                task.name,
                request.id,
                soft,
                limits.hard,
            )
            soft = None
        told = None if soft is None else partial(_tell, soft, task.name, request.id)
        job.limit_time(soft, limits.hard, SoftTimeLimitExceeded, told)


def _tell(seconds: float, name: str, task_id: str) -> None:
    logger.warning("Soft time limit (%ss) exceeded for %s[%s]", shown(seconds), name, task_id)


def shown(seconds: float) -> float:
    """Return a limit as log lines and errors name it: whole seconds without a fraction."""
    return int(seconds) if seconds == int(seconds) else seconds


def _own(of_call: Sequence[Any], of_task: Sequence[Any]) -> list[Any]:
    """Return the limits that only the call can have given: the task's own travel with it, too."""
    return [None if given == own else given for given, own in zip(of_call, of_task, strict=True)]


def seconds_of(name: str, value: Any) -> float | None:
    """Return a limit as it was given, in seconds; raises ImproperlyConfigured for what is no limit."""
    if value is None or value == 0:
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError) as error:
        raise ImproperlyConfigured(f"{name} takes seconds, not {value!r}") from error
    if not seconds > 0:
        raise ImproperlyConfigured(f"{name} must be more than 0 seconds, not {value!r}")
    return seconds
