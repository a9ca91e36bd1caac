"""Options of a worker, checked when they are made (River: Config)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from river_core import validation
from river_core.clock import Clock, SystemClock
from river_core.errors import ConfigurationError, ValidationError
from river_core.parity import Parity, checked_parity
from river_core.periodic import PeriodicJob, PeriodicJobs
from river_core.plugins import distinct
from river_core.retry import DefaultRetryPolicy, RetryPolicy
from river_core.schedule import Schedule, as_next
from river_core.worker.attendant import CONTROL_POLL_SECONDS
from river_core.worker.companion import Companion
from river_core.worker.extensions import ErrorHandler
from river_core.worker.identity import POLL_ONLY, marked_id
from river_core.worker.internals import Internals
from river_core.worker.maintenance.custom import MaintenanceTask, interval_of
from river_core.worker.maintenance.group import MaintenanceConfig
from river_core.worker.maintenance.job_cleaner import DAY_SECONDS, Retention
from river_core.worker.maintenance.reindexer import TIMEOUT_SECONDS, UNLIMITED, MidnightSchedule
from river_core.worker.maintenance.rescuer import UnknownKinds
from river_core.worker.maintenance.service import QUERY_SECONDS
from river_core.worker.processes.config import ProcessConfig
from river_core.worker.producer import Pacing, QueueConfig
from river_core.worker.stuck import StuckHandler

JOB_TIMEOUT_SECONDS = 60.0
RESCUE_AFTER_SECONDS = 3600.0
REFRESH_AFTER_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """How a worker runs. All times are seconds.

    `max_workers` bounds all queues together where it is given; without it each queue has its own
    number. `notify_kind` names the job kind whose finished ids are announced on `river_python_done`.
    `claim_ahead` lets short jobs wait, claimed, behind busy slots; they are given back when a slow one
    comes between. `durable_claims` False lets claims on Postgres be committed without waiting for the disk,
    but for those with a job's last attempt. `main_thread` runs jobs in the thread that calls
    `Worker.run_jobs`, one at a time; `processes` runs them in child processes, one in each, and needs
    `Worker.prepare` early.

    A `job_timeout` of 0 is River's 60 seconds, of None or -1 no limit. `rescue_stuck_jobs_after` 0 is an
    hour, or an hour more than a `job_timeout` that was given. Retention of None or -1 keeps jobs forever.

    `refresh_attempts_after` renews `attempted_at` of attempts that are older, as often, so that no leader
    takes a living job for stuck. 0 is ten minutes, or a third of `rescue_stuck_jobs_after` where that is
    less. Beside a leader of another language give at most a third of that one's horizon.

    While it leads, a worker inserts `periodic_jobs` and runs `maintenance_services`. `reindexer_index_names`
    None rebuilds River's own indexes, an empty list none; `reindexer_timeout` of -1 or None is without limit.

    A stop lets running jobs finish for `soft_stop_timeout`, None without limit, and then interrupts them.
    `lenient_queue_names` takes queue names that River's other clients refuse. Without queues a worker only
    leads, which needs periodic jobs or services that it can run then.

    `plugins` surround inserts and attempts. `error_handler` sees each failed attempt and may answer
    `cancel`. A job that still runs `job_stuck_threshold` after its time-out is given to
    `job_stuck_handler`, which may answer True to have a new thread in its place. `companions` are threads of
    an adapter that live as long as the worker. `abandon_without_lock` False lets jobs run on in a worker that
    cannot prove that it lives, although others may run them by then as well.
    """

    queues: Mapping[str, QueueConfig | int] = field(default_factory=dict)
    id: str | None = None
    max_workers: int | None = None
    fetch_cooldown: float = 0.1
    fetch_poll_interval: float = 1.0
    fetch_only_known_kinds: bool = False
    job_timeout: float | None = 0.0
    retry_policy: RetryPolicy = field(default_factory=DefaultRetryPolicy)
    rescue_stuck_jobs_after: float = 0.0
    refresh_attempts_after: float = 0.0
    rescue_unknown_kinds: UnknownKinds = UnknownKinds.RETRY
    cancelled_job_retention_period: float | None = DAY_SECONDS
    completed_job_retention_period: float | None = DAY_SECONDS
    discarded_job_retention_period: float | None = 7 * DAY_SECONDS
    job_cleaner_timeout: float = QUERY_SECONDS
    poll_only: bool = False
    leader_election_disabled: bool = False
    periodic_jobs: Sequence[PeriodicJob] = ()
    maintenance_services: Sequence[MaintenanceTask] = ()
    reindexer_schedule: Schedule | None = None
    reindexer_index_names: Sequence[str] | None = None
    reindexer_timeout: float | None = TIMEOUT_SECONDS
    notify_kind: str | None = None
    claim_ahead: bool = False
    durable_claims: bool = True
    main_thread: bool = False
    processes: ProcessConfig | None = None
    clock: Clock = field(default_factory=SystemClock)
    plugins: Sequence[object] = ()
    companions: Sequence[Companion] = ()
    abandon_without_lock: bool = True
    error_handler: ErrorHandler | None = None
    job_stuck_threshold: float = 10.0
    job_stuck_handler: StuckHandler | None = None
    soft_stop_timeout: float | None = None
    lenient_queue_names: bool = False
    parity: str = Parity.PYTHON
    internals: Internals = field(default_factory=Internals)

    def __post_init__(self) -> None:
        """Fill in what follows from other options; raise ConfigurationError naming one that is wrong."""
        self._fill_in()
        if not self.queues and not self.leads_only:
            raise ConfigurationError(
                "a worker needs at least one queue: queues={'default': 10}; without any it needs "
                "periodic_jobs or maintenance_services to run as leader"
            )
        if self.id is not None:
            marked_id(self.id, POLL_ONLY)
        self._check_job_times()
        if self.main_thread and self.processes is not None:
            raise ConfigurationError("jobs run in the main thread or in processes, not in both")
        if self.job_stuck_threshold < 0:
            raise ConfigurationError(
                f"job_stuck_threshold must be 0 or more seconds, not {self.job_stuck_threshold}"
            )
        distinct(self.plugins)
        if self.soft_stop_timeout is not None and self.soft_stop_timeout < 0:
            raise ConfigurationError(
                f"soft_stop_timeout must be 0 or more seconds, or None, not {self.soft_stop_timeout!r}"
            )
        for name, given in self.queues.items():
            self.checked_queue(name, given)
        self._check_maintenance()

    def _fill_in(self) -> None:
        if checked_parity(self.parity) is Parity.GO:
            object.__setattr__(self, "rescue_unknown_kinds", UnknownKinds.DISCARD)
        given = self.job_timeout
        if given in (0, UNLIMITED):
            object.__setattr__(self, "job_timeout", JOB_TIMEOUT_SECONDS if given == 0 else None)
        if self.rescue_stuck_jobs_after == 0:
            object.__setattr__(self, "rescue_stuck_jobs_after", RESCUE_AFTER_SECONDS + max(given or 0, 0))
        if self.refresh_attempts_after == 0:
            refresh = min(REFRESH_AFTER_SECONDS, self.rescue_stuck_jobs_after / 3)
            object.__setattr__(self, "refresh_attempts_after", refresh)

    def _check_job_times(self) -> None:
        if self.job_timeout is not None and self.job_timeout < 0:
            raise ConfigurationError(
                f"job_timeout must be 0 or more seconds, or None or -1 for no limit, not {self.job_timeout}"
            )
        if self.rescue_stuck_jobs_after < (self.job_timeout or 0):
            raise ConfigurationError("rescue_stuck_jobs_after must not be shorter than job_timeout")
        longest = self.rescue_stuck_jobs_after / 2
        if not 0 < self.refresh_attempts_after <= longest:
            raise ConfigurationError(
                f"refresh_attempts_after must be more than 0 and at most {longest:g} seconds, half of "
                f"rescue_stuck_jobs_after, not {self.refresh_attempts_after!r}: living jobs would look stuck"
            )

    def _check_maintenance(self) -> None:
        self.maintenance()
        if not self.job_cleaner_timeout > 0:
            raise ConfigurationError(
                f"job_cleaner_timeout must be more than 0 seconds, not {self.job_cleaner_timeout!r}"
            )
        try:
            PeriodicJobs(self.periodic_jobs, may_lead=not self.leader_election_disabled)
            as_next(self.reindexer_schedule or MidnightSchedule())
        except ValidationError as error:
            raise ConfigurationError(str(error)) from error
        for service in self.maintenance_services:
            interval_of(service)
        if isinstance(self.reindexer_index_names, str):
            raise ConfigurationError(
                f"reindexer_index_names takes a list of names, not {self.reindexer_index_names!r}"
            )
        timeout = self.reindexer_timeout
        if timeout is not None and timeout != UNLIMITED and not timeout > 0:
            raise ConfigurationError(
                f"reindexer_timeout must be more than 0 seconds, or -1 or None for no limit, not {timeout!r}"
            )

    def maintenance(self) -> MaintenanceConfig:
        """Return the part of it that the leader's services need."""
        try:
            unknown_kinds = UnknownKinds(self.rescue_unknown_kinds)
        except ValueError as error:
            raise ConfigurationError(
                f"rescue_unknown_kinds is {', '.join(UnknownKinds)}, not {self.rescue_unknown_kinds!r}"
            ) from error
        return MaintenanceConfig(
            rescue_after=self.rescue_stuck_jobs_after,
            rescue_unknown_kinds=unknown_kinds,
            job_timeout=self.job_timeout,
            retry_policy=self.retry_policy,
            retention=Retention(
                self.cancelled_job_retention_period,
                self.completed_job_retention_period,
                self.discarded_job_retention_period,
            ),
            cleaner_timeout=self.job_cleaner_timeout,
            reindexer_schedule=self.reindexer_schedule,
            reindexer_index_names=self.reindexer_index_names,
            reindexer_timeout=self.reindexer_timeout,
            custom=self.maintenance_services,
            rescuer_interval=self.internals.rescuer_interval,
            scheduler_interval=self.internals.scheduler_interval,
            staggered=self.internals.staggered,
        )

    @property
    def leads_only(self) -> bool:
        """Whether the worker has no queues, but something to do while it leads."""
        return not (self.queues or self.leader_election_disabled) and bool(
            self.periodic_jobs or self.maintenance_services
        )

    @property
    def control_poll_interval(self) -> float:
        """Seconds within which a cancellation or a pause is seen that no notification told of."""
        return CONTROL_POLL_SECONDS

    def checked_queue(self, name: str, given: QueueConfig | int) -> QueueConfig:
        """Return the configuration of a queue, given as one or as its number of slots.

        Raises ConfigurationError for a name or pacing that River refuses.
        """
        try:
            validation.queue(name, self.lenient_queue_names)
        except ValidationError as error:
            raise ConfigurationError(str(error)) from error
        queue = given if isinstance(given, QueueConfig) else QueueConfig(given)
        self.pacing(queue)
        return queue

    def pacing(self, queue: QueueConfig) -> Pacing:
        """Return how often a queue is fetched from."""
        return Pacing(
            cooldown=self.fetch_cooldown if queue.fetch_cooldown is None else queue.fetch_cooldown,
            poll=self.fetch_poll_interval if queue.fetch_poll_interval is None else queue.fetch_poll_interval,
        )
