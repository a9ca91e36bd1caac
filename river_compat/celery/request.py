"""`self.request`: the facts about the call that runs, as `celery.app.task.Context` shows them.

Of a request in a worker only what every task needs is there at once; the rest is read from the row
when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.exceptions import InvalidTaskError
from river_compat.celery.utils.nodenames import of_client
from river_compat.codec import ACCEPT_JSON, JSON_TYPE, decode
from river_compat.envelope import TaskCall
from river_compat.results import GIVEN_BACK
from river_core.job import JobRow, JobState
from river_core.links import DELAY

STORING = "_storing"
DEFAULTS: dict[str, Any] = {
    "args": None,
    "callbacks": None,
    "called_directly": True,
    "chain": None,
    "chord": None,
    "correlation_id": None,
    "delivery_info": None,
    "errbacks": None,
    "eta": None,
    "expires": None,
    "group": None,
    "group_index": None,
    "headers": None,
    "hostname": None,
    "id": None,
    "ignore_result": False,
    "is_eager": False,
    "kwargs": None,
    "logfile": None,
    "loglevel": None,
    "origin": None,
    "parent_id": None,
    "properties": None,
    "replaced_task_nesting": 0,
    "reply_to": None,
    "retries": 0,
    "root_id": None,
    "shadow": None,
    "soft_time_limit": None,
    "stamped_headers": None,
    "stamps": None,
    "taskset": None,
    "time_limit": None,
    "timelimit": None,
    "utc": None,
}
MESSAGE_FIELDS = frozenset({*DEFAULTS, "argsrepr", "compression", "kwargsrepr", "lang", "task"})
_AS_OPTION = {
    "task_id": "id",
    "group_id": "group",
    "link": "callbacks",
    "link_error": "errbacks",
    **{
        name: name
        for name in (
            "root_id",
            "parent_id",
            "group_index",
            "shadow",
            "chord",
            "chain",
            "expires",
            "headers",
            "retries",
            "reply_to",
            "replaced_task_nesting",
            "origin",
        )
    },
}
EMBEDDED = ("callbacks", "errbacks", "chain", "chord")


_SHAPES: dict[str, tuple[Any, str]] = {
    "retries": (int, "a whole number"),
    "chord": (Mapping, "an object"),
    "headers": (Mapping, "an object"),
    "timelimit": ((list, tuple), "a list"),
    "callbacks": ((list, tuple), "a list"),
    "errbacks": ((list, tuple), "a list"),
    "expires": ((str, datetime), "a time"),
}
_SHAPED = tuple(f'"{name}"' for name in _SHAPES)


@dataclass(frozen=True, slots=True)
class Storing:
    """How the outcome of a run is stored; a worker puts it into the request under the key `STORING`.

    `settle` turns the return value into what is stored and may raise, which fails the run. `after_write`
    takes a function that is called once the outcome is written, with the state that the row was left in;
    None where nothing is written. `failed` is told of a failure before handlers and receivers are.
    """

    settle: Callable[[Any], Any]
    after_write: Callable[[Callable[[JobState | None], object]], object] | None = None
    failed: Callable[[BaseException, ExceptionInfo], None] | None = None


class Context:
    """The request of one run of a task. Any other name reads a custom header of the call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take fields as a mapping, as pairs, or by name."""
        self.update(*args, **kwargs)
        fields = self.__dict__
        if fields.get("headers") is None:
            own = {key: value for key, value in fields.items() if _is_custom(key)}
            fields["headers"] = own or None

    def __getattr__(self, name: str) -> Any:
        """Return the default of a field that was not set; raise AttributeError for an unknown one."""
        if name in DEFAULTS:
            return DEFAULTS[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set fields; `timelimit` sets `time_limit` and `soft_time_limit` too."""
        fields = dict(*args, **kwargs)
        self.__dict__.update(fields)
        if "timelimit" in fields:
            limits = fields["timelimit"]
            pair = limits if isinstance(limits, list | tuple) and len(limits) >= 2 else (None, None)
            self.__dict__["time_limit"], self.__dict__["soft_time_limit"] = pair[0], pair[1]

    @property
    def limits_of_call(self) -> tuple[Any, Any]:
        """The time limits that the call itself gives, the hard one first."""
        return self.time_limit, self.soft_time_limit

    def clear(self) -> None:
        """Forget every field."""
        self.__dict__.clear()

    def get(self, key: str, default: Any = None) -> Any:
        """Return a field, or `default`."""
        return getattr(self, key, default)

    @property
    def children(self) -> list[Any]:
        """Results of the tasks that this one has sent."""
        children: list[Any] = self.__dict__.setdefault("_children", [])
        return children

    def as_execution_options(self) -> dict[str, Any]:
        """Return the options of `apply_async` that make the same call again."""
        hard, soft = self.timelimit or (None, None)
        options = {name: getattr(self, field) for name, field in _AS_OPTION.items()}
        options.update(time_limit=hard, soft_time_limit=soft)
        names, stamps = self.stamped_headers, self.stamps
        if names is not None and stamps is not None:
            options["stamped_headers"] = names
            options.update((name, stamps[name]) for name in names if stamps.get(name) is not None)
        return options

    def __dir__(self) -> list[str]:
        """List the fields, set or not."""
        return sorted({*super().__dir__(), *DEFAULTS})

    def effective_ignore_result(self, of_task: bool | None) -> bool:
        """Whether the result is dropped: as the call says, else as the task says."""
        called = self.__dict__.get("ignore_result")
        return bool(of_task if called is None else called)

    def __repr__(self) -> str:
        """Show every field."""
        return f"<Context: {self.__dict__!r}>"


_LIMITS = ('"timelimit"', 'time_limit"')
"""How headers spell what gives a call limits of its own: `time_limit` and `soft_time_limit`, too."""


_IGNORES = '"ignore_result": true'
_OPEN = ('"headers"', '"properties"', '"stamps"')
"""Headers with parts that callers fill: only without them a key in the text is surely the message's own."""


class WorkerContext(Context):
    """The request of a row that a worker has claimed."""

    def __init__(
        self,
        call: TaskCall,
        row: JobRow,
        args: Any,
        kwargs: Any,
        embedded: Any,
        priority: int | None = None,
    ) -> None:
        """Keep the call and its row; headers are read when asked for.

        `priority` is what is told where the call was given none.
        """
        fields = self.__dict__
        fields["_priority"] = priority
        fields["_source"] = (call, row, embedded)
        fields["_row"] = row
        fields["_headers_text"] = call.headers
        fields["_linked"] = isinstance(embedded, Mapping) and (
            embedded.get("callbacks") or embedded.get("errbacks")
        )
        fields["id"] = call.id
        fields["task"] = call.name
        fields["args"] = args
        fields["kwargs"] = kwargs
        fields["called_directly"] = False

    def __getattr__(self, name: str) -> Any:
        """Read the rest of the call on the first miss, then answer as before."""
        if self.load():
            return getattr(self, name)
        if name == "chain":
            from river_compat.celery.rest_of_chain import rest_of_chain

            self.__dict__["chain"] = rest_of_chain(self.__dict__["_row"])
            return self.__dict__["chain"]
        return super().__getattr__(name)

    def load(self) -> bool:
        """Read what the row says about the call; return False when that was done before.

        Raises InvalidTaskError for a header that is not what its name says.
        """
        source = self.__dict__.pop("_source", None)
        if source is None:
            return False
        call, row, embedded = source
        fields = dict(DEFAULTS)
        fields.update(row_fields(call, row))
        headers = read_headers(call.headers)
        check_headers(headers)
        fields.update(headers)
        fields.update((key, value) for key, value in (embedded or {}).items() if key in EMBEDDED and value)
        _complete(fields, row)
        custom = headers.pop("headers", None)
        fields.update((key, value) for key, value in (custom or {}).items() if key not in MESSAGE_FIELDS)
        fields["headers"] = custom
        priority = headers.get("priority")
        fields["delivery_info"]["priority"] = self.__dict__["_priority"] if priority is None else priority
        fields.update(self.__dict__)
        self.update(fields)
        return True

    @property
    def headers_text(self) -> str:
        """The text of the headers."""
        text: str = self.__dict__["_headers_text"]
        return text

    @property
    def is_linked(self) -> bool:
        """Whether the call has callbacks or errbacks."""
        return bool(self.__dict__["_linked"])

    @property
    def may_have(self) -> str:
        """The text of the headers, to be searched for a key before it is decoded."""
        source = self.__dict__.get("_source")
        return source[0].headers if source is not None else ""

    @property
    def limits_of_call(self) -> tuple[Any, Any]:
        """As the base says, without decoding headers that hold none, as those of nearly every run."""
        if "_source" in self.__dict__ and not any(name in self.may_have for name in _LIMITS):
            return None, None
        return super().limits_of_call

    def effective_ignore_result(self, of_task: bool | None) -> bool:
        """As the base says, without decoding headers that cannot hold the answer."""
        if "_source" in self.__dict__:
            text = self.may_have
            if '"ignore_result"' not in text:
                return bool(of_task)
            if _IGNORES in text and not any(name in text for name in _OPEN):
                return True
        self.load()
        return super().effective_ignore_result(of_task)

    def __repr__(self) -> str:
        """Show every field."""
        self.load()
        return super().__repr__()


def _complete(fields: dict[str, Any], row: JobRow) -> None:
    """Fill in what a step of a workflow holds in short: its chord's body, its relative expiry."""
    chord = fields["chord"]
    if chord is not None:
        fields["chord"] = {"args": (), "kwargs": {}, "subtask_type": None, "immutable": False, **chord}
    if fields["chain"] is None and "follows" in fields:
        del fields["chain"]  # it is read when it is asked for
    seconds = fields.get("expires_in")
    if seconds is not None:
        delay = row.metadata.get(DELAY, 0.0)
        fields["expires"] = (row.scheduled_at + timedelta(seconds=seconds - delay)).isoformat()


def is_shaped(text: str) -> bool:
    """Whether headers may hold one that `check_headers` looks at."""
    return any(name in text for name in _SHAPED)


def check_headers(headers: Mapping[str, Any]) -> None:
    """Raise InvalidTaskError, naming the header, where a stranger wrote something else than is read."""
    for name, (shape, text) in _SHAPES.items():
        value = headers.get(name)
        if value is not None and (not isinstance(value, shape) or isinstance(value, bool)):
            raise InvalidTaskError(f"the header {name} must be {text}, not {value!r}")
    for limit in headers.get("timelimit") or ():
        if limit is not None and not isinstance(limit, int | float):
            raise InvalidTaskError(f"the header timelimit must hold numbers of seconds, not {limit!r}")


def read_headers(text: str) -> dict[str, Any]:
    """Decode the envelope's headers; an empty dict for none."""
    headers = decode(text, JSON_TYPE, "utf-8", ACCEPT_JSON) if text else {}
    return headers if isinstance(headers, dict) else {}


def row_fields(call: TaskCall, row: JobRow) -> dict[str, Any]:
    """Return the fields that the envelope and the row give, before the headers."""
    attempted_by = row.attempted_by
    return {
        "argsrepr": call.args_repr,
        "kwargsrepr": call.kwargs_repr,
        "lang": "py",
        "root_id": call.id,
        "correlation_id": call.id,
        "group": call.group,
        "taskset": call.group,
        "hostname": of_client(attempted_by[-1]) if attempted_by else None,
        "timelimit": [None, None],
        "ignore_result": None,
        "stamps": {},
        "properties": {"correlation_id": call.id},
        "delivery_info": {
            "exchange": "",
            "routing_key": row.queue,
            "priority": None,
            "redelivered": row.attempt > 1 or _was_given_back(row),
        },
        "river_job_id": row.id,
        "river_attempt": row.attempt,
    }


def _was_given_back(row: JobRow) -> bool:
    return f'"{GIVEN_BACK}"' in row.encoded_metadata


def _is_custom(key: str) -> bool:
    return key not in MESSAGE_FIELDS and not key.startswith("_")
