"""Options for a job that is to begin where an earlier attempt would have left it (River: rivertest)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from river_core.errors import ValidationError
from river_core.insert import InsertOpts
from river_core.metadata import json_copy
from river_core.resumable import CURSOR_KEY, STEP_KEY


def resumable_step_after(opts: InsertOpts | None, step: str) -> InsertOpts:
    """Return the options with the step done: the job goes on behind it (River: ResumableStepAfter)."""
    return _with_metadata(opts, {STEP_KEY: _named(step)})


def resumable_step_at_cursor(opts: InsertOpts | None, step: str, cursor: Any) -> InsertOpts:
    """Return the options with the step begun: the job goes on at `cursor` (River: ResumableStepAtCursor).

    Raises ValidationError for a cursor that is no JSON.
    """
    copied = json_copy("the cursor", cursor)
    return _with_metadata(opts, {STEP_KEY: _named(step), CURSOR_KEY: {step: copied}})


def _with_metadata(opts: InsertOpts | None, updates: dict[str, Any]) -> InsertOpts:
    given = opts or InsertOpts()
    return replace(given, metadata={**(given.metadata or {}), **updates})


def _named(step: str) -> str:
    if not isinstance(step, str) or not step:
        raise ValidationError(f"a step is named by a text that is not empty, not {step!r}")
    return step
