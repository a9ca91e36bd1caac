"""Every error that river_core raises, as one tree.

Exception
└── RiverError
    ├── ValidationError (ValueError)      a value was refused before anything was written
    ├── ConfigurationError (ValueError)   an option of a client, worker or driver is wrong
    │   └── MissingPackageError (ImportError)  an optional package is not installed
    ├── NotFoundError (LookupError)       no such row
    ├── JobRunningError                   a running job cannot be deleted
    ├── UniqueConflictError               another job holds the unique key
    ├── AmbientTransactionError           the joined connection cannot be used for this insert
    │   ├── OtherDatabaseError            it is connected to a database that is not River's
    │   └── AwaitedTransactionError       it belongs to an async session, so its statements are awaited
    ├── MigrationError                    the schema cannot be moved as asked
    ├── UnknownJobKindError               no task is registered under the row's kind
    ├── JobRowDecodeError                 one row holds what cannot be read; only that attempt fails
    ├── JobTimeoutError                   a task ran longer than its time-out
    ├── ResumableError                    steps of a job were used in a way that cannot be resumed
    └── DatabaseError                     what a driver raised, chained to the library's own error
        ├── OperationalError              the database cannot be reached or does not answer
        └── RejectedValueError            the database refused a value (SQLSTATE class 22, 23 or 54)

BaseException
└── ControlFlow                           not errors: they pass through `except Exception` untouched
    ├── JobCancelError
    ├── JobSnoozeError
    └── JobInterruptedError
"""

from __future__ import annotations

MAX_SNOOZE_SECONDS = 100 * 365.25 * 86_400


class RiverError(Exception):
    """Base of every error of this package."""


class ValidationError(RiverError, ValueError):
    """A value was refused; nothing was written. The text names the value and the way out."""


class ConfigurationError(RiverError, ValueError):
    """An option of a client, worker or driver is wrong; nothing was started."""


class MissingPackageError(ConfigurationError, ImportError):
    """A package that this needs is not installed; the text names the extra that brings it."""


class NotFoundError(RiverError, LookupError):
    """The row that was asked for does not exist."""


class JobRunningError(RiverError):
    """A job that runs cannot be deleted (River: ErrJobRunning); cancel it first."""


class UniqueConflictError(RiverError):
    """Another job holds the unique key of the one that was to be retried, or inserted the fast way."""

    def __init__(self, job_id: int | None = None) -> None:
        """Keep the id of the job that was to be retried, whose row is unchanged; None for an insert."""
        super().__init__(
            "nothing was inserted: another job holds the unique key of one of these; insert_many gives it"
            if job_id is None
            else f"job {job_id} cannot be retried: another job holds its unique key; the row is unchanged"
        )
        self.job_id = job_id


class AmbientTransactionError(RiverError):
    """The connection given to `river_core.join` cannot take this insert (other database, closed, aborted)."""


class OtherDatabaseError(AmbientTransactionError):
    """The open transaction is on a database that is not River's, so a row cannot be part of it."""


class AwaitedTransactionError(AmbientTransactionError):
    """The open transaction is that of SQLAlchemy's async session, whose statements must be awaited."""

    def __init__(self, owner: object) -> None:
        """Keep the sync session behind it, which inserts are given to until its commit."""
        super().__init__(
            "this cannot be done in the transaction of an async session without awaiting it; call it inside "
            "`await session.run_sync(lambda _: …)`, or use AsyncClient"
        )
        self.owner = owner


class MigrationError(RiverError):
    """River's schema cannot be moved as asked; the text names the version and the reason."""


class UnknownJobKindError(RiverError):
    """No task is registered under the row's kind (River: UnknownJobKindError)."""

    def __init__(self, kind: str) -> None:
        """Keep the kind that nobody knows."""
        super().__init__(f"job kind is not registered in the client's Workers bundle: {kind}")
        self.kind = kind


class JobRowDecodeError(RiverError):
    """A stored row holds what cannot be read (River: JobRowDecodeError)."""

    def __init__(self, reason: str) -> None:
        """Start the text as River does, so that its other clients recognise it."""
        super().__init__(f"job row couldn't be decoded: {reason}")


class JobTimeoutError(RiverError):
    """A task ran longer than its time-out, in seconds (River: job timeout)."""

    def __init__(self, seconds: float = 0) -> None:
        """Keep the limit that was exceeded, in seconds."""
        super().__init__(f"job timed out after {seconds:g}s")
        self.seconds = seconds


class JobLostError(RiverError):
    """The process that ran an attempt ended before the attempt did."""

    def __init__(self, how: str = "") -> None:
        """Take how it ended."""
        super().__init__(f"the process that ran the job ended: {how}")


class ResumableError(RiverError):
    """Steps of a job were used in a way that a retry could not resume; the attempt fails."""


class DatabaseError(RiverError):
    """A statement failed; the library's own error is the cause. `sqlstate` is None on SQLite."""

    def __init__(self, message: str, sqlstate: str | None = None) -> None:
        """Keep the five-character SQLSTATE where the database gave one."""
        super().__init__(message)
        self.sqlstate = sqlstate


class OperationalError(DatabaseError):
    """The database cannot be reached, went away, or does not answer in time."""


class MissingSchemaError(DatabaseError):
    """River's tables are not in the database or schema; they are made once, by a migration."""

    def __init__(self, message: str, sqlstate: str | None = None, place: str | None = None) -> None:
        """Add the place to the database's own words, and the way out: most are in a wrong directory."""
        where = f"in {place}" if place else "there"
        super().__init__(
            f"{message}; River's tables are not {where}: check the database and schema, or make them once "
            "with 'river-compat migrate up'",
            sqlstate,
        )


class RejectedValueError(DatabaseError):
    """The database refused a value: SQLSTATE class 22, 23 or 54, or SQLite's integrity and data errors."""


class ControlFlow(BaseException):
    """Base of what a task raises to direct River, not to report an error.

    They derive from BaseException so that a task's `except Exception`, or an adapter's retry rule,
    cannot swallow them.
    """


class JobCancelError(ControlFlow):
    """Raise it to finish the job as `cancelled` (River: JobCancel)."""

    def __init__(self, reason: str | BaseException | None = None) -> None:
        """Take a reason text or the exception that is the reason."""
        text = "JobCancelError" if reason is None else f"JobCancelError: {reason}"
        super().__init__(text)
        self.reason = reason


class JobSnoozeError(ControlFlow):
    """Raise it to run the job again after `seconds` without consuming an attempt (River: JobSnooze)."""

    def __init__(self, seconds: float) -> None:
        """Take the delay in seconds, 0 to a hundred years; raise ValidationError otherwise."""
        if not 0 <= seconds <= MAX_SNOOZE_SECONDS:
            raise ValidationError(f"snooze takes 0 to {MAX_SNOOZE_SECONDS:g} seconds, not {seconds!r}")
        super().__init__(f"job snoozed for {seconds:g}s")
        self.seconds = seconds


class JobInterruptedError(ControlFlow):
    """Raised inside a task when its worker stops without waiting any longer (River: interruption)."""

    def __init__(self, reason: str = "worker is stopping", began: bool = True) -> None:
        """Take the reason that is logged, and whether any of the task's code has run in this attempt."""
        super().__init__(reason)
        self.began = began
