"""What `job_update` changes (River: JobUpdateParams)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from typing import Any, Final, Literal

from river_core import validation as check
from river_core.encoding import encode_json, sanitize_text
from river_core.errors import ValidationError
from river_core.job import AttemptError, JobState
from river_core.metadata import MAX_OUTPUT_BYTES


class Unset(Enum):
    """The type of UNSET."""

    UNSET = "unset"

    def __repr__(self) -> str:
        """Return the name under which it is imported."""
        return self.name


UNSET: Final = Unset.UNSET
"""Stands for a field that was not given, because None is a value."""

UnsetType = Literal[Unset.UNSET]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUpdateParams:
    """New values for columns of a job; what is not given stays. None clears a column that may be NULL.

    `metadata` replaces the whole object, `output` only its key `output`; with both, `output` wins. An
    `output` of None is stored as null; it has at most 32 MiB of JSON. Raises ValidationError.
    """

    attempt: int | UnsetType = UNSET
    attempted_at: datetime | UnsetType | None = UNSET
    attempted_by: Sequence[str] | UnsetType | None = UNSET
    errors: Sequence[AttemptError] | UnsetType | None = UNSET
    finalized_at: datetime | UnsetType | None = UNSET
    max_attempts: int | UnsetType = UNSET
    metadata: Mapping[str, Any] | UnsetType = UNSET
    output: Any = UNSET
    state: JobState | str | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Check every value that was given."""
        given = self.given()
        for name, (lowest, highest) in _NUMBERS.items():
            if name in given:
                check.in_range(name, given[name], lowest, highest)
        for name in ("attempted_at", "finalized_at"):
            if given.get(name) is not None:
                check.aware_time(name, given[name])
        if given.get("attempted_by") is not None:
            check.texts("attempted_by", given["attempted_by"])
        if given.get("errors") is not None:
            _check_errors(given["errors"])
        if "state" in given and given["state"] not in set(JobState):
            raise ValidationError(f"state {given['state']!r} is none of {', '.join(JobState)}")
        if not isinstance(given.get("metadata", {}), Mapping):
            raise ValidationError(f"metadata takes a dict, and {{}} clears it, not {given['metadata']!r}")

    def given(self) -> dict[str, Any]:
        """Return the fields that were given."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not UNSET}

    def encoded(self) -> dict[str, str]:
        """Return what was given as JSON texts, apart from times, which each database spells its own way.

        Raises ValidationError for metadata or output that cannot be stored.
        """
        given = self.given()
        texts = {name: encode_json(given[name]) for name in _PLAIN if name in given}
        if "errors" in given:
            texts["errors"] = encode_json(_plain_errors(given["errors"]))
        if "metadata" in texts:
            check.json_object("metadata", texts["metadata"])
        if "output" in texts:
            _check_output(texts["output"])
        return texts


_NUMBERS = {"attempt": (0, check.MAX_ATTEMPTS), "max_attempts": (1, check.MAX_ATTEMPTS)}
_PLAIN = ("attempt", "attempted_by", "max_attempts", "metadata", "output", "state")


def _check_errors(errors: Any) -> None:
    for error in check.members("errors", errors):
        if not isinstance(error, AttemptError):
            raise ValidationError(f"errors takes a list of AttemptError, not {error!r}")
        check.aware_time("errors: at", error.at)


def _plain_errors(errors: Sequence[AttemptError] | None) -> list[dict[str, Any]] | None:
    if errors is None:
        return None
    return [
        {**error.to_json(), "error": sanitize_text(error.error), "trace": sanitize_text(error.trace)}
        for error in errors
    ]


def _check_output(text: str) -> None:
    size = len(text.encode())
    if size > MAX_OUTPUT_BYTES:
        raise ValidationError(
            f"output has {size} bytes of JSON, more than {MAX_OUTPUT_BYTES}; store it elsewhere and put a "
            "reference into the output"
        )
    check.json_object("output", f'{{"output":{text}}}')
