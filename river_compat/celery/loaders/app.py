"""The loader of applications that name their configuration themselves (`celery.loaders.app`)."""

from __future__ import annotations

from river_compat.celery.loaders.base import BaseLoader

__all__ = ["AppLoader"]


class AppLoader(BaseLoader):
    """The loader that applications have unless they ask for another one."""
