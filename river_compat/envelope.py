"""The envelope: how one call of an adapter's task is stored in `river_job.args`, version 1.

Every key here is indexed by River, so there are few. The serialized call and the headers are text
inside the JSON, which keeps NUL, NaN, key order and `1e22`; jsonb would refuse or change them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from river_compat.errors import CallNotRunnable, CompatError, MalformedCall
from river_core.encoding import sanitize_text
from river_core.errors import ValidationError

KIND = "python_task"
VERSION = 1
REPR_CHARACTERS = 1024

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TaskCall:
    """One call of a task as it is stored.

    `body` is None for a row that another language wrote with plain `args` and `kwargs`. `headers` is
    the text of a JSON object, empty when there is nothing to say.
    """

    id: str
    framework: str
    name: str
    content_type: str = "application/json"
    content_encoding: str = "utf-8"
    body: str | None = None
    headers: str = ""
    args_repr: str = ""
    kwargs_repr: str = ""
    group: str | None = None
    plain_args: list[Any] | None = None
    plain_kwargs: dict[str, Any] | None = None

    @property
    def compression(self) -> str:
        """How the body is compressed, as the header `compression` says; empty where it is not."""
        if '"compression"' not in self.headers:
            return ""
        try:
            headers = json.loads(self.headers)
        except (ValueError, RecursionError):
            return ""
        return str(headers.get("compression") or "") if isinstance(headers, dict) else ""


def encode(call: TaskCall) -> str:
    """Return the text for `river_job.args`; raises ValidationError for an id or name that is not storable."""
    task = {
        "id": storable("task id", call.id),
        "framework": call.framework,
        "name": storable("task name", call.name),
        "content_type": call.content_type,
        "content_encoding": call.content_encoding,
        "body": call.body,
    }
    if call.headers:
        task["headers"] = call.headers
    task["args_repr"] = sanitize_text(call.args_repr[:REPR_CHARACTERS])
    task["kwargs_repr"] = sanitize_text(call.kwargs_repr[:REPR_CHARACTERS])
    if call.group is not None:
        task["group"] = storable("group id", call.group)
    return json.dumps({"version": VERSION, "task": task}, ensure_ascii=False, separators=(",", ":"))


def decode(text: str, row_id: int) -> TaskCall:
    """Read `river_job.args`; a row without a task id takes its row id.

    Raises CallNotRunnable for a version that this release does not know, MalformedCall for what is no
    envelope at all.
    """
    try:
        envelope = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedCall(f"the arguments of job {row_id} are no JSON: {error}") from error
    if not isinstance(envelope, dict):
        raise MalformedCall(f"the arguments of job {row_id} are no envelope")
    if envelope.get("version") != VERSION:
        raise CallNotRunnable(_unknown_version(envelope))
    task = envelope.get("task")
    if not isinstance(task, dict) or not isinstance(task.get("name"), str):
        raise MalformedCall(f"the envelope of job {row_id} names no task")
    return _call(task, row_id)


def decode_or_none(text: str, row_id: int) -> TaskCall | None:
    """Read `river_job.args`; None where `decode` would raise."""
    try:
        return decode(text, row_id)
    except CompatError:
        return None


def _call(task: dict[str, Any], row_id: int) -> TaskCall:
    get = task.get
    body = get("body")
    if body is not None and not isinstance(body, str):
        raise MalformedCall(f"the body of job {row_id} must be text, not {type(body).__name__}")
    plain_args, plain_kwargs = (None, None) if body is not None else _plain(task, row_id)
    identity = get("id")
    return TaskCall(
        str(row_id) if identity is None else str(identity),
        get("framework") or "",
        task["name"],
        get("content_type") or "application/json",
        get("content_encoding") or "utf-8",
        body,
        get("headers") or "",
        get("args_repr") or "",
        get("kwargs_repr") or "",
        get("group"),
        plain_args,
        plain_kwargs,
    )


def _plain(task: dict[str, Any], row_id: int) -> tuple[list[Any], dict[str, Any]]:
    args, kwargs = task.get("args"), task.get("kwargs")
    if not isinstance(args, list | None) or not isinstance(kwargs, dict | None):
        raise MalformedCall(f"job {row_id}: task.args must be a JSON array and task.kwargs a JSON object")
    return args or [], kwargs or {}


def _unknown_version(envelope: dict[str, Any]) -> str:
    version = envelope.get("version")
    found = "without a version" if version is None else f"of version {version!r}"
    return f"the envelope is {found}; this release of river-compat reads version {VERSION}"


def storable(what: str, text: str) -> str:
    """Return a name or id; raises ValidationError where the database would refuse it."""
    if not isinstance(text, str):
        raise ValidationError(f"the {what} must be text, not {text!r}")
    if _UNSTORABLE.search(text):
        raise ValidationError(f"the {what} {text!r} holds a NUL or a lone surrogate, which cannot be stored")
    return text
