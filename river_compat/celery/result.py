"""The names of `celery.result`."""

from __future__ import annotations

from river_compat.celery.async_result import AsyncResult
from river_compat.celery.eager_result import EagerResult
from river_compat.celery.joining import allow_join_result, assert_will_not_block, denied_join_result

__all__ = [
    "AsyncResult",
    "EagerResult",
    "allow_join_result",
    "assert_will_not_block",
    "denied_join_result",
]
