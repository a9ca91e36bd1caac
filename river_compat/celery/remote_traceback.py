"""The frames of a worker below those of the reader (`task_remote_tracebacks`)."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery


def remote_traceback(app: Celery, text: str | None) -> TracebackType | None:
    """Return a traceback that shows the frames of a text.

    None without a text, unless the setting is on, and where tblib is not installed.
    """
    if not text or not app.conf.task_remote_tracebacks:
        return None
    try:
        import tblib
    except ImportError:
        return None
    traceback: Any = tblib.Traceback.from_string(text).as_traceback()
    return traceback if isinstance(traceback, TracebackType) else None
