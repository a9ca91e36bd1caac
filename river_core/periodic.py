"""Periodic jobs: what is to be inserted again and again, and the registrations of one client.

Only the client that leads inserts them; `river_core.worker.maintenance.periodic` does it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from river_core.errors import ConfigurationError, ValidationError
from river_core.insert import InsertOpts, JobArgs
from river_core.schedule import Schedule, as_next
from river_core.task import KIND_PATTERN

MAX_ID_LENGTH = 127

Constructed = JobArgs | tuple[JobArgs, InsertOpts | None] | None
"""What a constructor returns: arguments, arguments with options, or None to leave this run out."""


@dataclass(frozen=True, slots=True)
class PeriodicJob:
    """One job that is inserted at the times of a schedule (River: PeriodicJob).

    `schedule` is a Schedule or a function from a time to the next one. `constructor` is called when a run
    is due; it must not block. With an `id` the runs that were inserted are remembered in the database, so
    that none is inserted twice when the leader changes; `durable=False` leaves that to River's way, which
    keeps nothing. `catch_up` inserts the last run that was missed while nobody led. `run_on_start` inserts
    one more whenever a client begins to lead.

    >>> report = PeriodicJob(  # doctest: +SKIP
    ...     CronSchedule("0 9 * * *"), lambda: EncodedArgs("report", "{}"), id="report"
    ... )
    """

    schedule: Schedule | Callable[[datetime], datetime]
    constructor: Callable[[], Constructed]
    id: str | None = None
    run_on_start: bool = False
    durable: bool | None = None
    catch_up: bool = False

    def __post_init__(self) -> None:
        """Raise ValidationError for an id, a schedule or a constructor that cannot be used."""
        if self.id is not None:
            _check_id(self.id)
        if not callable(self.constructor):
            raise ValidationError(f"constructor of a periodic job is a function, not {self.constructor!r}")
        _probe(self.schedule)
        if self.durable and self.id is None:
            raise ValidationError("a durable periodic job needs an id, under which its runs are remembered")
        if self.catch_up and not self.is_durable:
            raise ValidationError(
                "catch_up needs an id, and durable not set to False: missed runs are found by it"
            )

    @property
    def is_durable(self) -> bool:
        """Whether the database remembers which runs were inserted; so by default when there is an id."""
        return self.id is not None if self.durable is None else self.durable


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered job and its handle, a number that is never given again."""

    handle: int
    job: PeriodicJob


class PeriodicJobs:
    """The periodic jobs of one client (River: PeriodicJobBundle). Callable from any thread.

    Only the leader inserts, so every client that may lead should register the same jobs.
    """

    def __init__(self, jobs: Iterable[PeriodicJob] = (), *, may_lead: bool = True) -> None:
        """Register `jobs`; raises as `add_many`. A client that never leads takes none."""
        self._lock = threading.Lock()
        self._may_lead = may_lead
        self._jobs: dict[int, PeriodicJob] = {}
        self._last_handle = 0
        self._listeners: list[Callable[[], object]] = []
        self.add_many(jobs)

    def add(self, job: PeriodicJob) -> int:
        """Register a job and return its handle; raises as `add_many`."""
        return self.add_many([job])[0]

    def add_many(self, jobs: Iterable[PeriodicJob]) -> list[int]:
        """Register jobs, all or none, and return their handles.

        Raises ValidationError for an id that is registered already, ConfigurationError where leader election
        is disabled.
        """
        added = list(jobs)
        if added and not self._may_lead:
            raise ConfigurationError(
                "periodic jobs are inserted by the leader, and this client has leader_election_disabled; "
                "register them on clients that may lead"
            )
        with self._lock:
            self._refuse_known_ids(added)
            first = self._last_handle + 1
            self._last_handle += len(added)
            handles = list(range(first, first + len(added)))
            self._jobs.update(zip(handles, added, strict=True))
        if added:
            self._tell()
        return handles

    def remove(self, handle: int) -> PeriodicJob | None:
        """Take a job out, with all its later runs; return it, or None where there is none."""
        with self._lock:
            return self._jobs.pop(handle, None)

    def remove_by_id(self, periodic_id: str) -> bool:
        """Take out the job with an id; return whether there was one."""
        with self._lock:
            handles = [handle for handle, job in self._jobs.items() if job.id == periodic_id]
            return any(self._jobs.pop(handle) for handle in handles)

    def clear(self) -> PeriodicJobs:
        """Take all jobs out and return the registry; handles are not given again."""
        with self._lock:
            self._jobs.clear()
        return self

    def registrations(self) -> list[Registration]:
        """Return what is registered now, in order of registration."""
        with self._lock:
            return [Registration(handle, job) for handle, job in self._jobs.items()]

    def __len__(self) -> int:
        """Return how many jobs are registered."""
        return len(self._jobs)

    def attach(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` after each addition; returns what ends that."""
        with self._lock:
            self._listeners.append(listener)

        def detach() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return detach

    def _tell(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def _refuse_known_ids(self, added: Iterable[PeriodicJob]) -> None:
        known = {job.id for job in self._jobs.values() if job.id is not None}
        for job in added:
            if job.id is None:
                continue
            if job.id in known:
                raise ValidationError(f"a periodic job with id {job.id!r} is registered already")
            known.add(job.id)


def _check_id(periodic_id: str) -> None:
    if not isinstance(periodic_id, str) or not KIND_PATTERN.fullmatch(periodic_id):
        raise ValidationError(
            f"the id of a periodic job must match {KIND_PATTERN.pattern}, not {periodic_id!r}"
        )
    if len(periodic_id) > MAX_ID_LENGTH:
        raise ValidationError(
            f"the id of a periodic job has at most {MAX_ID_LENGTH} characters, not {len(periodic_id)}"
        )


def _probe(schedule: Schedule | Callable[[datetime], datetime]) -> None:
    """Refuse a schedule that gives no later time; one that raises may do better when it counts."""
    following = as_next(schedule)
    try:
        following(datetime.now(UTC))
    except ValidationError:
        raise
    except Exception:  # noqa: BLE001 - it is asked again, and logged, when a time is needed
        return
