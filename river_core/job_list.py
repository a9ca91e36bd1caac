"""Which jobs are meant, in which order, and where a list goes on (River: JobListParams, JobListCursor).

The objects check themselves when they are made, so a statement can take them as they are. Text of a
cursor is what River's other clients write and read.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from river_core import validation as check
from river_core.encoding import encode_json
from river_core.errors import ValidationError
from river_core.job import FINAL_STATES, JobRow, JobState, rfc3339

OrderBy = Literal["id", "time", "finalized_at", "scheduled_at"]
Direction = Literal["asc", "desc"]
TimeColumn = Literal["attempted_at", "finalized_at", "scheduled_at"]

LIMIT_DEFAULT = 100
MAX_ID = 2**63 - 1
_URL_ALPHABET = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilters:
    """Which jobs are meant; a job passes every filter that is given, and an empty one is none.

    `tags_any` and `tags_all` match exactly. `metadata` names top-level keys and the whole value of each:
    1, "1", True and None are different, and None is a null that is there. Raises ValidationError.
    """

    ids: Collection[int] = ()
    kinds: Collection[str] = ()
    priorities: Collection[int] = ()
    queues: Collection[str] = ()
    states: Collection[JobState | str] = ()
    tags_any: Collection[str] = ()
    tags_all: Collection[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every filter."""
        for job_id in check.members("ids", self.ids):
            check.in_range("ids: an id", job_id, -MAX_ID, MAX_ID)
        for priority in check.members("priorities", self.priorities):
            check.in_range("priorities: a priority", priority, check.PRIORITIES[0], check.PRIORITIES[-1])
        for name in ("kinds", "queues", "tags_any", "tags_all", "states"):
            check.texts(name, getattr(self, name))
        unknown = [state for state in self.states if state not in set(JobState)]
        if unknown:
            known = ", ".join(JobState)
            raise ValidationError(f"states: {unknown[0]!r} is no state; the states are {known}")
        if not isinstance(self.metadata, Mapping):
            raise ValidationError(f"metadata takes a dict of keys and values, not {self.metadata!r}")
        check.json_object("metadata", encode_json(self.metadata))

    @property
    def encoded_metadata(self) -> str | None:
        """The filter on metadata as JSON text, None when there is none."""
        return encode_json(self.metadata) if self.metadata else None

    @property
    def is_empty(self) -> bool:
        """Whether every job passes."""
        return not any(getattr(self, filter_.name) for filter_ in fields(JobFilters))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobListParams(JobFilters):
    """What `job_list` lists: filters, order and place (River: JobListParams).

    `order_by` "time" is the time that fits the first of the states: of the attempt for running, of the
    end for final ones, else the scheduled one. "finalized_at" lists final jobs only. Jobs without the
    time come last ascending and first descending; equal times are in the order of their ids. `after` is
    a page's `last_cursor`, `after_id` an id for the order by id.
    """

    order_by: OrderBy = "id"
    direction: Direction = "asc"
    limit: int = LIMIT_DEFAULT
    after: JobListCursor | str | None = None
    after_id: int | None = None

    def __post_init__(self) -> None:
        """Check everything; a `finalized_at` order without states takes the final ones."""
        JobFilters.__post_init__(self)
        _one_of("order_by", self.order_by, get_args(OrderBy))
        _one_of("direction", self.direction, get_args(Direction))
        check.limit(self.limit)
        if self.order_by == "finalized_at":
            self._take_final_states()
        if self.order_by == "time" and isinstance(self.states, Set):
            raise ValidationError("order_by 'time' goes by the first of states; give them as a list")
        if self.after is not None:
            self._take_cursor(self.after)
        if self.after_id is not None:
            self._check_after_id(self.after_id)

    def _take_final_states(self) -> None:
        waiting = [str(state) for state in self.states if state not in FINAL_STATES]
        if waiting:
            raise ValidationError(
                f"order_by 'finalized_at' lists finished jobs only; leave {', '.join(waiting)} out of states"
            )
        object.__setattr__(self, "states", self.states or tuple(sorted(FINAL_STATES)))

    def _take_cursor(self, after: JobListCursor | str) -> None:
        if self.after_id is not None:
            raise ValidationError("give after or after_id, not both")
        cursor = after if isinstance(after, JobListCursor) else JobListCursor.decode(after)
        if cursor.sort_field != self.order_by:
            raise ValidationError(
                f"after: the cursor is of a list by {cursor.sort_field!r}, this one is by {self.order_by!r}"
            )
        object.__setattr__(self, "after", cursor)

    def _check_after_id(self, after_id: int) -> None:
        check.in_range("after_id", after_id, 0, MAX_ID)
        if self.order_by != "id":
            raise ValidationError(f"after_id is for order_by 'id'; a list by {self.order_by!r} takes after")

    @property
    def sort_column(self) -> TimeColumn | None:
        """The column of times to sort by; None for the order by id."""
        if self.order_by == "id":
            return None
        if self.order_by != "time":
            return self.order_by
        first = next(iter(self.states), JobState.SCHEDULED)
        if first in FINAL_STATES:
            return "finalized_at"
        return "attempted_at" if first == JobState.RUNNING else "scheduled_at"

    @property
    def place(self) -> tuple[datetime | None, int | None]:
        """The time and the id behind which the list begins; an id of None is the start."""
        if isinstance(self.after, JobListCursor):
            return (self.after.time if self.sort_column else None), self.after.id
        return None, self.after_id

    def cursor(self, job: JobRow) -> JobListCursor:
        """Return the place behind `job` in this order."""
        column = self.sort_column
        time = getattr(job, column) if column else None
        return JobListCursor(job.id, job.kind, job.queue, self.order_by, time)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDeleteManyParams(JobFilters):
    """What `job_delete_many` deletes (River: JobDeleteManyParams).

    Without a filter it must be said: `unsafe_all=True` stands for every job, and goes with no filter.
    """

    limit: int = LIMIT_DEFAULT
    unsafe_all: bool = False

    def __post_init__(self) -> None:
        """Check everything, above all that the whole table is meant only on purpose."""
        JobFilters.__post_init__(self)
        check.limit(self.limit)
        if self.is_empty and self.unsafe_all is not True:
            raise ValidationError("give a filter, or unsafe_all=True to delete all jobs that do not run")
        if self.unsafe_all and not self.is_empty:
            raise ValidationError("unsafe_all=True stands for all jobs; leave it out where a filter is given")


@dataclass(frozen=True, slots=True)
class JobListCursor:
    """The place of a job in a list (River: JobListCursor); it holds when the job is gone.

    `time` is the value that the list is sorted by, None for the order by id and for a job without it.
    """

    id: int
    kind: str
    queue: str
    sort_field: str
    time: datetime | None

    def encode(self) -> str:
        """Return the text that every River client gives for this place."""
        members = {"id": self.id, "kind": self.kind, "queue": self.queue, "sort_field": self.sort_field}
        text = encode_json({**members, "time": rfc3339(self.time or check.NO_TIME)})
        return base64.urlsafe_b64encode(text.encode()).decode()

    @classmethod
    def decode(cls, text: str) -> JobListCursor:
        """Read a cursor of any River client: either alphabet, padding or none; raises ValidationError."""
        try:
            standard = text.translate(_URL_ALPHABET).rstrip("=")
            padded = standard + "=" * (-len(standard) % 4)
            value = json.loads(base64.b64decode(padded, validate=True))
            time = datetime.fromisoformat(value["time"]).astimezone(UTC)
            job_id = check.in_range("id", value["id"], 0, MAX_ID)
            kind, queue, sort_field = (str(value.get(name, "")) for name in ("kind", "queue", "sort_field"))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, binascii.Error) as error:
            raise ValidationError(f"after: {text!r} is no cursor of a list of jobs") from error
        return cls(job_id, kind, queue, sort_field, None if time == check.NO_TIME else time)


@dataclass(frozen=True, slots=True)
class JobListResult:
    """One page of a list (River: JobListResult); `last_cursor` is None when it is empty."""

    jobs: list[JobRow]
    last_cursor: str | None


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValidationError(f"{name} is one of {', '.join(known)}, not {value!r}")
