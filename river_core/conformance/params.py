"""The params of every method as frozen data; `river_core.conformance.decoding` reads them strictly.

Names and defaults are those of the suite's contract: what is absent or null has the value given here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from river_core.job import JobState


class MigrateDirection(StrEnum):
    """Which way `migrate` goes."""

    UP = "up"
    DOWN = "down"


class ListDirection(StrEnum):
    """Which way `list` sorts."""

    ASC = "asc"
    DESC = "desc"


class ListOrder(StrEnum):
    """What `list` sorts by."""

    ID = "id"
    FINALIZED_AT = "finalized_at"
    SCHEDULED_AT = "scheduled_at"
    TIME = "time"


class QueueAction(StrEnum):
    """What `queue` does."""

    PAUSE = "pause"
    RESUME = "resume"
    UPDATE = "update"


class WorkerKind(StrEnum):
    """Under which kinds the built-in worker may be registered."""

    ECHO = "conformance_echo"
    PEER = "conformance_echo_peer"
    RENAMED = "conformance_echo_renamed"


@dataclass(frozen=True, slots=True)
class NoParams:
    """The params of `handshake` and `stats`."""


@dataclass(frozen=True, slots=True)
class Unique:
    """Options of a unique job; the period is in milliseconds."""

    by_args: bool = False
    by_period_ms: int = 0
    by_queue: bool = False
    by_state: list[JobState] = field(default_factory=list)
    exclude_kind: bool = False


@dataclass(frozen=True, slots=True)
class Opts:
    """Options of one job to insert."""

    max_attempts: int = 0
    metadata: dict[str, Any] | None = None
    pending: bool = False
    priority: int = 0
    queue: str = ""
    scheduled_at: datetime | None = None
    tags: list[str] = field(default_factory=list)
    unique: Unique | None = None


@dataclass(frozen=True, slots=True)
class JobRequest:
    """One job to insert."""

    behavior: str = ""
    duration_ms: int = 0
    message: str = ""
    opts: Opts = field(default_factory=Opts)


@dataclass(frozen=True, slots=True)
class Insert:
    """The params of `insert`."""

    jobs: list[JobRequest] = field(default_factory=list)
    schema: str = ""
    tx: str = ""


@dataclass(frozen=True, slots=True)
class OneJob:
    """The params of `cancel` and `retry`."""

    id: int = 0
    schema: str = ""
    tx: str = ""


@dataclass(frozen=True, slots=True)
class ListJobs:
    """The params of `list`."""

    after: str = ""
    direction: ListDirection = ListDirection.ASC
    ids: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    limit: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    order_by: ListOrder = ListOrder.ID
    priorities: list[int] = field(default_factory=list)
    queues: list[str] = field(default_factory=list)
    schema: str = ""
    states: list[JobState] = field(default_factory=list)
    tags_all: list[str] = field(default_factory=list)
    tx: str = ""


@dataclass(frozen=True, slots=True)
class Migrate:
    """The params of `migrate`."""

    direction: MigrateDirection = MigrateDirection.UP
    schema: str = ""
    target_version: int | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """The params of `queue`."""

    action: QueueAction
    name: str = ""
    metadata: dict[str, Any] | None = None
    schema: str = ""
    tx: str = ""


@dataclass(frozen=True, slots=True)
class RequestResign:
    """The params of `request_resign`."""

    schema: str = ""
    tx: str = ""


@dataclass(frozen=True, slots=True)
class TxBegin:
    """The params of `tx_begin`."""

    tx: str


@dataclass(frozen=True, slots=True)
class TxEnd:
    """The params of `tx_end`."""

    tx: str
    commit: bool = False


@dataclass(frozen=True, slots=True)
class Release:
    """The params of `release`."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """The params of `stop`."""

    cancel: bool = False


@dataclass(frozen=True, slots=True)
class Tuning:
    """Intervals of maintenance in milliseconds; 0 is the usual one."""

    elect_interval_ms: int = 0
    rescuer_interval_ms: int = 0
    scheduler_interval_ms: int = 0


@dataclass(frozen=True, slots=True)
class Start:
    """The params of `start`."""

    client_id: str = ""
    claim_barrier: str = ""
    error_handler_cancel: bool = False
    fetch_only_known_kinds: bool = False
    fetch_poll_interval_ms: int = 0
    job_timeout_ms: int = 0
    leader_election_disabled: bool = False
    max_workers: int = 0
    periodic_run_on_start: bool = False
    periodic_unique: bool = False
    poll_only: bool = False
    queues: list[str] = field(default_factory=list)
    rescue_after_ms: int = 0
    retry_delay_ms: int = 0
    schema: str = ""
    tuning: Tuning = field(default_factory=Tuning)
    worker_kinds: list[WorkerKind] = field(default_factory=list)
