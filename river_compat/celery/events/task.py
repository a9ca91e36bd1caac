"""A task as its events show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from river_compat.celery import states

if TYPE_CHECKING:
    from river_compat.celery.events.state import State

STATE_OF_EVENT = {
    "sent": states.PENDING,
    "received": states.RECEIVED,
    "started": states.STARTED,
    "failed": states.FAILURE,
    "retried": states.RETRY,
    "succeeded": states.SUCCESS,
    "revoked": states.REVOKED,
    "rejected": states.REJECTED,
}
LATE_FIELDS = {
    states.RECEIVED: ("name", "args", "kwargs", "parent_id", "root_id", "retries", "eta", "expires")
}
"""What an event that comes after one of a later state still tells."""


class Task:
    """What is known of one task; two of one id are equal."""

    _defaults: Mapping[str, Any] = {
        "uuid": None,
        "name": None,
        "state": states.PENDING,
        "received": None,
        "sent": None,
        "started": None,
        "rejected": None,
        "succeeded": None,
        "failed": None,
        "retried": None,
        "revoked": None,
        "args": None,
        "kwargs": None,
        "eta": None,
        "expires": None,
        "retries": None,
        "worker": None,
        "result": None,
        "exception": None,
        "timestamp": None,
        "runtime": None,
        "traceback": None,
        "exchange": None,
        "routing_key": None,
        "root_id": None,
        "parent_id": None,
        "client": None,
        "clock": 0,
    }
    _fields = tuple(_defaults)
    _info_fields = (
        "args",
        "kwargs",
        "retries",
        "result",
        "eta",
        "runtime",
        "expires",
        "exception",
        "exchange",
        "routing_key",
        "root_id",
        "parent_id",
    )

    merge_rules = LATE_FIELDS

    uuid: Any
    name: Any
    state: str
    worker: Any
    timestamp: Any
    clock: Any
    root_id: Any
    parent_id: Any

    def __init__(
        self,
        uuid: str | None = None,
        cluster_state: State | None = None,
        children: Iterable[Task] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take what is known already, by the names of the fields; `cluster_state` knows the other tasks."""
        self.__dict__.update(self._defaults)
        self.cluster_state = cluster_state
        self.children: WeakSet[Task] = WeakSet(children or ())
        self.__dict__.update(kwargs, uuid=uuid)

    def event(
        self,
        type_: str,
        timestamp: Any = None,
        local_received: Any = None,
        fields: Mapping[str, Any] | None = None,
        precedence: Callable[[str], int] = states.precedence,
        task_event_to_state: Callable[[str], str | None] = STATE_OF_EVENT.get,
        RETRY: str = states.RETRY,  # noqa: N803 - the name is Celery's
    ) -> None:
        """Take one event. One that comes late does not turn the state back, but for a retry."""
        state = task_event_to_state(type_) or type_.upper()
        news = dict(fields or {})
        setattr(self, type_, timestamp)
        late = type_ != "retried" and self.state != RETRY and precedence(state) > precedence(self.state)
        if late:
            news = {name: news[name] for name in LATE_FIELDS.get(state, ()) if name in news}
        else:
            news |= {"state": state, "timestamp": timestamp}
        self.__dict__.update(news)

    @property
    def ready(self) -> bool:
        """Whether it has ended."""
        return self.state in states.READY_STATES

    @property
    def id(self) -> Any:
        """The id."""
        return self.uuid

    @property
    def origin(self) -> Any:
        """Who sent or ran it."""
        return self.client if self.worker is None else self.worker.id

    client: Any

    @property
    def parent(self) -> Task | None:
        """The task that sent it, if that is known."""
        return self._known(self.parent_id)

    @property
    def root(self) -> Task | None:
        """The first task of its workflow, if that is known."""
        return self._known(self.root_id)

    def _known(self, task_id: Any) -> Task | None:
        if not task_id or self.cluster_state is None:
            return None
        found: Task | None = self.cluster_state.tasks.get(task_id)
        return found

    def info(self, fields: Iterable[str] | None = None, extra: Iterable[str] = ()) -> dict[str, Any]:
        """Return the facts that are known, of these names."""
        names = (*(self._info_fields if fields is None else fields), *extra)
        found = ((name, getattr(self, name, None)) for name in names)
        return {name: value for name, value in found if value is not None}

    def as_dict(self) -> dict[str, Any]:
        """Return every field."""
        return {name: getattr(self, name) for name in self._fields}

    def __eq__(self, other: object) -> bool:
        """Be equal to a task of the same id."""
        return self.uuid == other.uuid if isinstance(other, Task) else NotImplemented

    def __hash__(self) -> int:
        """Hash the id."""
        return hash(self.uuid)

    def __repr__(self) -> str:
        """Show name, id and state."""
        return f"<{type(self).__name__}: {self.name} ({self.uuid}) {self.state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields; who knows the others is told when all are there again."""
        return restored, (type(self), self.as_dict())


def restored(cls: type[Any], fields: Mapping[str, Any]) -> Any:
    """Make a task again of its fields."""
    return cls(**fields)
