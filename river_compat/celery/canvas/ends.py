"""How many values the end of a workflow brings."""

from __future__ import annotations

from typing import Any

from river_compat.celery.canvas import algebra


def has_many_ends(sig: Any) -> bool:
    """Whether a signature ends in several tasks."""
    if algebra.is_group(sig):
        return True
    if algebra.is_chord(sig):
        return sig.body is None or has_many_ends(sig.body)
    return algebra.is_chain(sig) and bool(sig.tasks) and has_many_ends(sig.tasks[-1])


def with_one_end(sig: Any, app: Any) -> Any:
    """Return a signature that ends in one task: one that brings the list of values where there were many."""
    if not has_many_ends(sig):
        return sig
    return sig | app.tasks["celery.accumulate"].s(index=0)
