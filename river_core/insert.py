"""What a caller asks for when inserting a job, and what comes back.

`InsertParams` is the checked, complete form of one row to be written; `river_core.client` makes it
from arguments and options.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from river_core.job import JobRow, JobState
from river_core.links import Links
from river_core.unique import UniqueOpts

MAX_ATTEMPTS_DEFAULT = 25
PRIORITY_DEFAULT = 1
QUEUE_DEFAULT = "default"


@runtime_checkable
class JobArgs(Protocol):
    """Arguments of a job: a kind and how they are written as JSON (River: JobArgs)."""

    @property
    def kind(self) -> str:
        """The kind under which a task is registered, 1 to 127 characters."""
        ...

    def to_json(self) -> str:
        """Return the arguments as the text of a JSON object; it is stored as it is."""
        ...


@runtime_checkable
class JobArgsWithInsertOpts(JobArgs, Protocol):
    """Arguments whose class has options of its own (River: JobArgsWithInsertOpts)."""

    def insert_opts(self) -> InsertOpts:
        """Return the options that hold unless the call gives others; `pending` and `state` do not count."""
        ...


@dataclass(frozen=True, slots=True)
class EncodedArgs:
    """Arguments that are JSON text already."""

    kind: str
    text: str

    def to_json(self) -> str:
        """Return the text as given."""
        return self.text


@dataclass(frozen=True, slots=True)
class InsertOpts:
    """Options of one insert (River: InsertOpts); None, and 0 where a number is asked, mean the default."""

    max_attempts: int | None = None
    priority: int | None = None
    queue: str | None = None
    scheduled_at: datetime | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    pending: bool = False
    state: JobState | None = None
    unique_opts: UniqueOpts | None = None


@dataclass(frozen=True, slots=True)
class InsertManyParams:
    """Arguments and options of one job of a batch (River: InsertManyParams)."""

    args: Any
    """JobArgs, or another form that `Client.insert` takes."""
    insert_opts: InsertOpts | None = None


@dataclass(frozen=True, slots=True)
class InsertParams:
    """One row to be written, complete and checked. A time of None is the database's now."""

    kind: str
    encoded_args: str
    queue: str = QUEUE_DEFAULT
    state: JobState = JobState.AVAILABLE
    priority: int = PRIORITY_DEFAULT
    max_attempts: int = MAX_ATTEMPTS_DEFAULT
    scheduled_at: datetime | None = None
    created_at: datetime | None = None
    encoded_metadata: str = "{}"
    tags: tuple[str, ...] = field(default=())
    unique_key: bytes | None = None
    unique_states: int | None = None
    links: Links | None = None
    """How the row hangs together with others of its batch or with stored ones."""


@dataclass(frozen=True, slots=True)
class InsertResult:
    """The stored row, and whether it is an older row that the unique key found (River: InsertResult)."""

    job: JobRow
    unique_skipped_as_duplicate: bool = False

    @property
    def unique_skipped_as_duplicated(self) -> bool:
        """The name that River's insert-only Python client gives to `unique_skipped_as_duplicate`."""
        return self.unique_skipped_as_duplicate
