"""Applications for tests (`celery.contrib.testing.app`)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state
from river_compat.celery.app.base import Celery
from river_compat.celery.contrib.testing import tasks as tasks
from river_compat.celery.refused_names import refusing

DEFAULT_TEST_CONFIG: dict[str, Any] = {
    "accept_content": {"json"},
    "broker_heartbeat": 0,
    "broker_url": "memory://",
    "enable_utc": True,
    "result_backend": "cache+memory://",
    "timezone": "UTC",
    "worker_hijack_root_logger": False,
    "worker_log_color": False,
}
_number = itertools.count(1)


class Trap:
    """Stands in for the current application and raises where anything uses it."""

    def __getattr__(self, name: str) -> Any:
        """Raise RuntimeError, except for what unittest.mock asks of any object."""
        if name in ("_is_coroutine", "__func__"):
            return None
        raise RuntimeError(f"Test depends on current_app (for {name!r})")


def TestApp(  # noqa: N802 - the name is Celery's
    name: str | None = None,
    config: Mapping[str, Any] | None = None,
    enable_logging: bool = False,
    set_as_current: bool = False,
    log: Any = None,
    backend: str | None = None,
    broker: str | None = None,
    **kwargs: Any,
) -> Celery:
    """Return an application for tests; without a database in `config` it has a temporary SQLite file.

    `enable_logging` lets its workers set up logging.
    """
    settings = {**DEFAULT_TEST_CONFIG, "broker_url": f"memory://test-{os.getpid()}-{next(_number)}"}
    settings.update(config or {})
    for name_of_setting, value in (("broker_url", broker), ("result_backend", backend)):
        if value is not None:
            settings.pop(name_of_setting, None)
    if log is not None:
        kwargs["log"] = log
    app = Celery(
        name or "celery.tests", set_as_current=set_as_current, broker=broker, backend=backend, **kwargs
    )
    app.add_defaults(settings)
    app.__dict__["logging_is_set_up"] = not enable_logging
    return app


TestApp.__test__ = False  # type: ignore[attr-defined]  # pytest must not collect what test modules import


@contextmanager
def set_trap(app: Any) -> Iterator[None]:
    """Let everything that asks for the current application raise RuntimeError during the block."""
    del app
    with _state.kept_applications(Trap()):
        yield


@contextmanager
def setup_default_app(app: Celery, use_trap: bool = False) -> Iterator[None]:
    """Put the current and default applications back at the end, and close `app`.

    With `use_trap` everything that asks for the current application raises RuntimeError meanwhile.
    """
    with _state.kept_applications(Trap() if use_trap else None):
        yield
    app.close()


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
