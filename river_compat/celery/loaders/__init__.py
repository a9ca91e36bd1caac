"""Loaders: how an application finds its configuration and its task modules (`celery.loaders`)."""

from __future__ import annotations

from typing import Any

from river_compat.celery.utils.imports import import_from_cwd, symbol_by_name

__all__ = ["get_loader_cls"]

LOADER_ALIASES = {
    "app": "river_compat.celery.loaders.app:AppLoader",
    "default": "river_compat.celery.loaders.default:Loader",
}


def get_loader_cls(loader: Any) -> Any:
    """Return a loader's class by its short name, its path, or itself."""
    return symbol_by_name(loader, LOADER_ALIASES, imp=import_from_cwd)
