"""What a finished row says about its task: outcome, value, exception.

Written into the row's metadata by the bridge, read by result handles in any process. Both adapters
share it; the names of their own states are theirs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from river_compat.codec import (
    ACCEPT_JSON,
    JSON_TYPE,
    Encoded,
    EncodeError,
    compressed,
    decode,
    encode,
    fit_for_jsonb,
    survives_jsonb,
)
from river_compat.shortened import short_repr
from river_core.encoding import sanitize_text
from river_core.job import JobRow

OUTPUT = "output"
OUTCOME = "python_task_outcome"
GIVEN_BACK = "python_task_redelivered"
RESULT = "python_task_result"
EXCEPTION = "python_task_exception"
RETRY_ID = "python_task_retry_id"
WAITING = "python_task_waiting"
CHILDREN = "python_task_children"

_DATA_URL = "data:"
_SIMPLE = (bool, int)


class TaskOutcome(StrEnum):
    """How a task ended, as it stands under `python_task_outcome`."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RETRIED = "retried"
    REPLACED = "replaced"
    IGNORED = "ignored"
    EXPIRED = "expired"
    REVOKED = "revoked"
    TERMINATED = "terminated"


class RebuildError(Exception):
    """A stored exception names something that is no exception class (a sign of tampering)."""


LEAVING = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""Never raised from a stored row: they would end the program that reads it."""


def result_metadata(value: Any, serializer: str, compression: str | None = None) -> dict[str, Any]:
    """Return the metadata that holds a task's return value; nothing for None.

    `output` is River's own key, for people and other languages. Where jsonb would change or refuse the
    value, the exact text stands under `python_task_result`; so it does alone where `compression` makes the
    text shorter. Raises kombu's EncodeError.
    """
    if value is None:
        return {}
    if type(value) in _SIMPLE:
        return {OUTPUT: value} if serializer == "json" else _encoded(value, serializer, None)
    return _encoded(value, serializer, compression)


def _encoded(value: Any, serializer: str, compression: str | None) -> dict[str, Any]:
    encoded = _shortest(value, serializer, compression)
    if encoded.compression or encoded.content_type != JSON_TYPE:
        return {RESULT: _data_url(encoded)}
    try:
        output = json.loads(encoded.text)
        if survives_jsonb(output):
            return {OUTPUT: output}
        return {OUTPUT: output, RESULT: encoded.text} if fit_for_jsonb(output) else {RESULT: encoded.text}
    except RecursionError:
        return {RESULT: encoded.text}


def result_value(metadata: Mapping[str, Any], accept: Collection[str] = ACCEPT_JSON) -> Any:
    """Return the value that `result_metadata` stored, None where there is none.

    Raises kombu's ContentDisallowed or DecodeError.
    """
    text = metadata.get(RESULT)
    if text is None:
        output = metadata.get(OUTPUT)
        return output if output is None else decode(json.dumps(output), JSON_TYPE, "utf-8", ACCEPT_JSON)
    return value_of_text(text, accept)


def value_text(value: Any, serializer: str, compression: str | None = None) -> str:
    """Return a value as exact text; raises kombu's EncodeError."""
    encoded = _shortest(value, serializer, compression)
    is_plain = encoded.content_type == JSON_TYPE and not encoded.compression
    return encoded.text if is_plain else _data_url(encoded)


def _shortest(value: Any, serializer: str, compression: str | None) -> Encoded:
    """Return a value serialized, compressed only where that makes it shorter."""
    plain = encode(value, serializer)
    packed = compressed(plain, compression)
    return packed if len(packed.text) < len(plain.text) else plain


def _data_url(encoded: Encoded) -> str:
    kind = [encoded.content_type, encoded.content_encoding, encoded.compression]
    return f"{_DATA_URL}{';'.join(part for part in kind if part)},{encoded.text}"


def value_of_text(text: str, accept: Collection[str] = ACCEPT_JSON) -> Any:
    """Return the value of which `value_text` made the text.

    Raises kombu's ContentDisallowed or DecodeError.
    """
    if not text.startswith(_DATA_URL):
        return decode(text, JSON_TYPE, "utf-8", ACCEPT_JSON)
    kind, _, content = text.removeprefix(_DATA_URL).partition(",")
    content_type, content_encoding, compression = (*kind.split(";"), "", "")[:3]
    return decode(content, content_type, content_encoding, accept, compression)


def exception_metadata(error: BaseException | None, traceback: str | None = None) -> dict[str, Any]:
    """Return what is needed to raise the exception again in another process.

    The arguments are stored as JSON, or as their repr where they are none. `traceback` is given for
    errors that River's own `errors` column does not hold; a retry may have one without an exception.
    """
    if traceback is not None:
        traceback = sanitize_text(traceback)
    if error is None:
        return {"traceback": traceback}
    kind = type(error)
    text = _arguments_text(error.args)
    arguments = json.loads(text)
    data: dict[str, Any] = {
        "exc_type": kind.__qualname__,
        "exc_module": kind.__module__,
        "exc_message": arguments if fit_for_jsonb(arguments) else [short_repr(item) for item in arguments],
    }
    if not survives_jsonb(arguments):
        data["exc_args"] = text
    if traceback is not None:
        data["traceback"] = traceback
    return data


def lost_reason(row: JobRow) -> str:
    """Return what is to be said of a discarded row that holds no exception: a rescuer gave it up."""
    reason = row.errors[-1].error if row.errors else "the row was discarded"
    return f"the task ended without a result after {row.attempt} attempts: {reason}"


def stored_exception(error: BaseException) -> dict[str, Any]:
    """Return `exception_metadata`, or that of a substitute for an exception that cannot be described."""
    try:
        return exception_metadata(error)
    except Exception:  # noqa: BLE001 - an exception that cannot be described has failed all the same
        unreadable = RuntimeError(f"a {type(error).__qualname__} that cannot be described")
        return exception_metadata(unreadable)


def _arguments_text(arguments: tuple[Any, ...]) -> str:
    try:
        return encode(arguments, "json").text
    except EncodeError:
        return json.dumps([_json_or_repr(argument) for argument in arguments])


def _json_or_repr(argument: Any) -> Any:
    try:
        return json.loads(encode(argument, "json").text)
    except EncodeError:
        return short_repr(argument)


def rebuild_exception(data: Mapping[str, Any], made_up_module: str) -> BaseException:
    """Return the exception that `exception_metadata` described.

    Nothing is imported: the class is looked for in modules that are loaded already, else one of that
    name is made up. Raises RebuildError when the name stands for something that is no exception.
    """
    name, module = str(data.get("exc_type")), data.get("exc_module")
    cls = _find_class(name, module)
    if cls is None or cls in LEAVING:
        cls = type(name, (Exception,), {"__module__": made_up_module})
    if not (isinstance(cls, type) and issubclass(cls, BaseException)):
        raise RebuildError(f"{module}.{name} was stored as an exception but is none")
    return _instance(cls, _arguments(data))


def _find_class(name: str, module: Any) -> Any:
    found: Any = sys.modules.get(module) if isinstance(module, str) else None
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def _arguments(data: Mapping[str, Any]) -> list[Any]:
    exact = data.get("exc_args")
    message = data.get("exc_message", [])
    text = exact if isinstance(exact, str) else json.dumps(message)
    arguments = decode(text, JSON_TYPE, "utf-8", ACCEPT_JSON)
    return arguments if isinstance(arguments, list) else [arguments]


def _instance(cls: type[BaseException], arguments: list[Any]) -> BaseException:
    try:
        return cls(*arguments)
    except BaseException:  # noqa: BLE001 - a constructor with other parameters must not hide the failure
        return Exception(f"{cls}({arguments})")
