"""The names of `celery.utils` that applications import; each lives where it belongs."""

from __future__ import annotations

import logging
from typing import Any

from kombu.utils.objects import cached_property
from kombu.utils.uuid import uuid

from river_compat.celery.utils.functional import chunks, memoize, noop
from river_compat.celery.utils.imports import gen_task_name, import_from_cwd, instantiate, symbol_by_name
from river_compat.celery.utils.imports import qualname as get_full_cls_name
from river_compat.celery.utils.nodenames import nodename, nodesplit, worker_direct

gen_unique_id = uuid
get_cls_by_name = symbol_by_name
LOG_LEVELS: dict[Any, Any] = {
    **logging.getLevelNamesMapping(),
    **{number: name for name, number in logging.getLevelNamesMapping().items()},
}

__all__ = [
    "LOG_LEVELS",
    "cached_property",
    "chunks",
    "gen_task_name",
    "gen_unique_id",
    "get_cls_by_name",
    "get_full_cls_name",
    "import_from_cwd",
    "instantiate",
    "memoize",
    "nodename",
    "nodesplit",
    "noop",
    "uuid",
    "worker_direct",
]
