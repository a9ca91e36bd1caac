"""The names of `celery.utils` that applications import; each lives where it belongs."""

from __future__ import annotations

from kombu.utils.uuid import uuid

gen_unique_id = uuid

__all__ = ["gen_unique_id", "uuid"]
