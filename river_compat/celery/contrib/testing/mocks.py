"""Stand-ins for tests: task messages and context managers (`celery.contrib.testing.mocks`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

from kombu import serialization
from kombu.utils.uuid import uuid

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

_dumps: Any = serialization.dumps


def TaskMessage(  # noqa: N802 - the name is Celery's
    name: str,
    id: str | None = None,  # noqa: A002 - the parameter is Celery's
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    callbacks: Any = None,
    errbacks: Any = None,
    chain: Any = None,
    shadow: str | None = None,
    utc: bool | None = None,
    **options: Any,
) -> Any:
    """Return a mock of a message of protocol 2."""
    del utc
    task_id = id or uuid()
    embedded = {"callbacks": callbacks, "errbacks": errbacks, "chain": chain}
    payload = (args, dict(kwargs or {}), embedded)
    message = Mock(name=f"TaskMessage-{task_id}")
    message.headers = {"id": task_id, "task": name, "shadow": shadow, **options}
    message.content_type, message.content_encoding, message.body = _dumps(payload, serializer="json")
    message.payload = payload
    return message


def TaskMessage1(  # noqa: N802 - the name is Celery's
    name: str,
    id: str | None = None,  # noqa: A002 - the parameter is Celery's
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    callbacks: Any = None,
    errbacks: Any = None,
    chain: Any = None,
    **options: Any,
) -> Any:
    """Return a mock of a message of protocol 1."""
    del chain
    task_id = id or uuid()
    call = {"task": name, "id": task_id, "args": args, "kwargs": dict(kwargs or {})}
    message = Mock(name=f"TaskMessage-{task_id}")
    message.headers = {}
    message.payload = {**call, "callbacks": callbacks, "errbacks": errbacks, **options}
    message.content_type, message.content_encoding, message.body = _dumps(message.payload)
    return message


def task_message_from_sig(app: Celery, sig: Any, utc: bool = True, TaskMessage: Any = TaskMessage) -> Any:  # noqa: N803
    """Return a mock of the message that a signature would send."""
    sig.freeze()
    options = dict(sig.options)
    names = (("callbacks", "link"), ("errbacks", "link_error"))
    links = {name: options.pop(option, None) for name, option in names}
    countdown, eta = options.pop("countdown", None), options.pop("eta", None)
    times = {"eta": countdown or eta, "expires": options.pop("expires", None)}
    return TaskMessage(
        sig.task,
        id=sig.id,
        args=sig.args,
        kwargs=sig.kwargs,
        utc=utc,
        **{name: [dict(each) for each in found] if found else None for name, found in links.items()},
        **{name: _time_text(app, value) for name, value in times.items()},
        **options,
    )


def _time_text(app: Celery, value: Any) -> Any:
    """Return a number of seconds from now, or a time, as text; anything else as it is."""
    if isinstance(value, int | float) and value:
        value = app.now() + timedelta(seconds=value)
    return value.isoformat() if isinstance(value, datetime) else value


class _ContextMock(Mock):
    """A mock whose class has what `with` looks for."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def ContextMock(*args: Any, **kwargs: Any) -> Any:  # noqa: N802 - the name is Celery's
    """Return a mock that is a context manager, which enters as itself and lets exceptions pass."""
    mock = _ContextMock(*args, **kwargs)
    mock.attach_mock(_ContextMock(return_value=mock), "__enter__")
    mock.attach_mock(_ContextMock(return_value=None), "__exit__")
    return mock
