"""`self.request` in a worker: only what every task needs is there at once.

The rest is read from the row when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from river_compat.celery.message_headers import check_headers, read_headers
from river_compat.celery.request import DEFAULTS, MESSAGE_FIELDS, Context
from river_compat.celery.utils.nodenames import of_client
from river_compat.envelope import TaskCall
from river_compat.results import GIVEN_BACK
from river_core.job import JobRow
from river_core.links import DELAY

EMBEDDED = ("callbacks", "errbacks", "chain", "chord")
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
