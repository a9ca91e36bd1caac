"""A complete River client and worker runtime for Python.

`open_driver` gives a driver for a database URL, `Client` inserts and manages jobs, `Worker` runs them,
`Migrator` makes the schema. Public are the names here and, for adapters, the modules `errors`,
`insert`, `job`, `outcome`, `decide`, `task`, `task_rows`, `encoding`, `notifier`, `trailing`, `migrate`,
`ambient`, `client` and `drivers.base`; everything else may change.
"""

from river_core.aio import AsyncClient
from river_core.ambient import join
from river_core.client import Client
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
from river_core.migrate import Migrator
from river_core.notifier import Notifier
from river_core.outcome import Cancelled, Completed, Failed, FollowUp, Interrupted, Outcome, Snoozed
from river_core.task import Job, Registry, Task
from river_core.unique import UniqueOpts
from river_core.worker.config import WorkerConfig
from river_core.worker.events import Event, EventKind
from river_core.worker.process import run_worker
from river_core.worker.producer import QueueConfig
from river_core.worker.worker import Worker

__all__ = [
    "AmbientTransactionError",
    "AsyncClient",
    "AttemptError",
    "AwaitedTransactionError",
    "Cancelled",
    "Client",
    "Completed",
    "ConfigurationError",
    "ControlFlow",
    "DatabaseError",
    "EncodedArgs",
    "Event",
    "EventKind",
    "Failed",
    "FollowUp",
    "InsertManyParams",
    "InsertOpts",
    "InsertParams",
    "InsertResult",
    "Interrupted",
    "Job",
    "JobArgs",
    "JobCancelError",
    "JobInterruptedError",
    "JobRow",
    "JobRowDecodeError",
    "JobRunningError",
    "JobSnoozeError",
    "JobState",
    "JobTimeoutError",
    "MigrationError",
    "Migrator",
    "MissingSchemaError",
    "NotFoundError",
    "Notifier",
    "OperationalError",
    "OtherDatabaseError",
    "Outcome",
    "QueueConfig",
    "Registry",
    "RejectedValueError",
    "RiverError",
    "Snoozed",
    "Task",
    "UniqueConflictError",
    "UniqueOpts",
    "UnknownJobKindError",
    "ValidationError",
    "Worker",
    "WorkerConfig",
    "join",
    "open_async_driver",
    "open_driver",
    "run_worker",
]
