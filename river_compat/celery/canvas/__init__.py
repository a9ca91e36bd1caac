"""Workflows: signatures, chains, groups, chords (`celery.canvas`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from river_compat.celery.canvas.chains import _chain, chain
from river_compat.celery.canvas.chords import _chord, chord
from river_compat.celery.canvas.groups import group
from river_compat.celery.canvas.maps import chunks, xmap, xstarmap
from river_compat.celery.canvas.signature import (
    Signature,
    maybe_signature,
    maybe_subtask,
    signature,
    subtask,
)
from river_compat.celery.canvas.stamps import StampingVisitor
from river_compat.celery.refused_names import refusing

__all__ = [
    "Signature",
    "StampingVisitor",
    "_chain",
    "_chord",
    "chain",
    "chord",
    "chunks",
    "group",
    "maybe_signature",
    "maybe_subtask",
    "signature",
    "subtask",
    "xmap",
    "xstarmap",
]


if not TYPE_CHECKING:
    __getattr__, _ = refusing(__name__)
