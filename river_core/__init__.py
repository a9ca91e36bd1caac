"""A complete River client and worker runtime for Python.

`open_driver` gives a driver for a database URL, `Client` inserts and manages jobs, `Worker` runs them,
`Migrator` makes the schema. Public are the names here and, for adapters, the modules `errors`,
`insert`, `job`, `loss`, `outcome`, `decide`, `cancelling`, `task`, `task_rows`, `standing`, `encoding`,
`notifier`, `trailing`, `migrate`, `ambient`, `client`, `plugins`, `resumable`, `testing`, `otel` and
`drivers.base`; everything else may change.
"""

from river_core.aio import AsyncClient
from river_core.ambient import join
from river_core.client import Client
from river_core.db.queues import QueueRow
from river_core.drivers import open_async_driver, open_driver
from river_core.errors import (
    AmbientTransactionError,
    AwaitedTransactionError,
    ConfigurationError,
    ControlFlow,
    DatabaseError,
    JobCancelError,
    JobInterruptedError,
    JobRowDecodeError,
    JobRunningError,
    JobSnoozeError,
    JobTimeoutError,
    MigrationError,
    MissingSchemaError,
    NotFoundError,
    OperationalError,
    OtherDatabaseError,
    RejectedValueError,
    ResumableError,
    RiverError,
    UniqueConflictError,
    UnknownJobKindError,
    ValidationError,
)
from river_core.insert import (
    EncodedArgs,
    InsertManyParams,
    InsertOpts,
    InsertParams,
    InsertResult,
    JobArgs,
)
from river_core.job import AttemptError, JobRow, JobState
from river_core.job_admin import QueueCount
from river_core.job_list import JobDeleteManyParams, JobListCursor, JobListParams, JobListResult
from river_core.job_tx import job_checkpoint, job_complete_tx
from river_core.job_update import JobUpdateParams
from river_core.joblog import LogWriter, PersistedLogs
from river_core.migrate import Migrator
from river_core.notifier import Notifier
from river_core.outcome import Cancelled, Completed, Failed, FollowUp, Interrupted, Outcome, Snoozed
from river_core.periodic import PeriodicJob, PeriodicJobs
from river_core.plugins import FinalizeAction, Metric, Plugin
from river_core.schedule import CronSchedule, IntervalSchedule, NeverSchedule, Schedule
from river_core.task import Job, Registry, Task
from river_core.unique import UniqueOpts
from river_core.worker.companion import Admitted, Companion
from river_core.worker.config import WorkerConfig
from river_core.worker.events import Event, EventKind, JobStatistics
from river_core.worker.jobs_here import JobHere
from river_core.worker.maintenance.custom import MaintenanceTask
from river_core.worker.maintenance.rescuer import UnknownKinds
from river_core.worker.process import Watcher, run_worker
from river_core.worker.processes.config import ProcessConfig
from river_core.worker.producer import QueueConfig
from river_core.worker.worker import Worker

__all__ = [
    "Admitted",
    "AmbientTransactionError",
    "AsyncClient",
    "AttemptError",
    "AwaitedTransactionError",
    "Cancelled",
    "Client",
    "Companion",
    "Completed",
    "ConfigurationError",
    "ControlFlow",
    "CronSchedule",
    "DatabaseError",
    "EncodedArgs",
    "Event",
    "EventKind",
    "Failed",
    "FinalizeAction",
    "FollowUp",
    "InsertManyParams",
    "InsertOpts",
    "InsertParams",
    "InsertResult",
    "Interrupted",
    "IntervalSchedule",
    "Job",
    "JobArgs",
    "JobCancelError",
    "JobDeleteManyParams",
    "JobHere",
    "JobInterruptedError",
    "JobListCursor",
    "JobListParams",
    "JobListResult",
    "JobRow",
    "JobRowDecodeError",
    "JobRunningError",
    "JobSnoozeError",
    "JobState",
    "JobStatistics",
    "JobTimeoutError",
    "JobUpdateParams",
    "LogWriter",
    "MaintenanceTask",
    "Metric",
    "MigrationError",
    "Migrator",
    "MissingSchemaError",
    "NeverSchedule",
    "NotFoundError",
    "Notifier",
    "OperationalError",
    "OtherDatabaseError",
    "Outcome",
    "PeriodicJob",
    "PeriodicJobs",
    "PersistedLogs",
    "Plugin",
    "ProcessConfig",
    "QueueConfig",
    "QueueCount",
    "QueueRow",
    "Registry",
    "RejectedValueError",
    "ResumableError",
    "RiverError",
    "Schedule",
    "Snoozed",
    "Task",
    "UniqueConflictError",
    "UniqueOpts",
    "UnknownJobKindError",
    "UnknownKinds",
    "ValidationError",
    "Watcher",
    "Worker",
    "WorkerConfig",
    "job_checkpoint",
    "job_complete_tx",
    "join",
    "open_async_driver",
    "open_driver",
    "run_worker",
]
