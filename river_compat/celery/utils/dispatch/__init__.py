"""Signals and their receivers, under the path that applications import (`celery.utils.dispatch`)."""

from river_compat.celery.utils.dispatch.signal import Signal

__all__ = ["Signal"]
