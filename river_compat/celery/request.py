"""`self.request`: the facts about the call that runs, as `celery.app.task.Context` shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from river_compat.celery.einfo import ExceptionInfo
from river_core.job import JobState

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


def _is_custom(key: str) -> bool:
    return key not in MESSAGE_FIELDS and not key.startswith("_")
