"""The names of `celery.result`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from river_compat.celery._state import join_will_block as task_join_will_block
from river_compat.celery.async_result import AsyncResult
from river_compat.celery.eager_result import EagerResult
from river_compat.celery.group_result import GroupResult
from river_compat.celery.joining import allow_join_result, assert_will_not_block, denied_join_result
from river_compat.celery.refused_names import refusing
from river_compat.celery.result_base import ResultBase
from river_compat.celery.result_set import ResultSet
from river_compat.celery.result_tuples import result_from_tuple

__all__ = [
    "AsyncResult",
    "EagerResult",
    "GroupResult",
    "ResultBase",
    "ResultSet",
    "allow_join_result",
    "assert_will_not_block",
    "denied_join_result",
    "result_from_tuple",
    "task_join_will_block",
]


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
