"""The names of `celery.backends.base`: the one backend there is, to name its type or look at its methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from river_compat.celery.backend import RowBackend as BaseBackend
from river_compat.celery.refused_names import refusing

Backend = BaseBackend
BaseDictBackend = BaseBackend
SyncBackendMixin = BaseBackend

__all__ = ["Backend", "BaseBackend", "BaseDictBackend", "SyncBackendMixin"]


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
