"""The names of `celery.backends.base`: the one backend there is, to name its type or look at its methods."""

from __future__ import annotations

from river_compat.celery.backend import RowBackend as BaseBackend

Backend = BaseBackend
BaseDictBackend = BaseBackend
SyncBackendMixin = BaseBackend

__all__ = ["Backend", "BaseBackend", "BaseDictBackend", "SyncBackendMixin"]
