"""Parameters of lists, deletions and updates, and the text of cursors, without a database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from river_core.errors import ValidationError
from river_core.job import FINAL_STATES, AttemptError
from river_core.job_list import JobDeleteManyParams, JobListCursor, JobListParams
from river_core.job_update import MAX_OUTPUT_BYTES, UNSET, JobUpdateParams
from river_core.keywords import options

BY_ID = JobListCursor(7, "some_kind", "default", "id", None)
BY_ID_TEXT = (
    "eyJpZCI6Nywia2luZCI6InNvbWVfa2luZCIsInF1ZXVlIjoiZGVmYXVsdCIsInNvcnRfZmllbGQiOiJpZCIsInRpbWUiOiIwMDAxLTAx"
    "LTAxVDAwOjAwOjAwWiJ9"
)
BY_TIME = JobListCursor(
    9007199254740993, "k>~~", "ü?", "scheduled_at", datetime(2026, 8, 7, 14, 30, 0, 500000, UTC)
)
BY_TIME_TEXT = (
    "eyJpZCI6OTAwNzE5OTI1NDc0MDk5Mywia2luZCI6ImtcdTAwM2V-fiIsInF1ZXVlIjoiw7w_Iiwic29ydF9maWVsZCI6InNjaGVk"
    "dWxlZF9hdCIsInRpbWUiOiIyMDI2LTA4LTA3VDE0OjMwOjAwLjVaIn0="
)


@pytest.mark.parametrize(("cursor", "text"), [(BY_ID, BY_ID_TEXT), (BY_TIME, BY_TIME_TEXT)])
def test_a_cursor_is_spelled_as_go_spells_it(cursor: JobListCursor, text: str) -> None:
    """Checklist 147. Key order, escapes, shortest fraction, zero time for none; URL alphabet with padding."""
    assert cursor.encode() == text
    assert JobListCursor.decode(text) == cursor


def test_a_cursor_is_read_in_either_alphabet_and_without_padding() -> None:
    """Checklist 147. Go decoded with the standard alphabet until 0.43."""
    assert set("-_=") <= set(BY_TIME_TEXT)
    standard = BY_TIME_TEXT.replace("-", "+").replace("_", "/")
    for text in (standard, standard.rstrip("="), BY_TIME_TEXT.rstrip("=")):
        assert JobListCursor.decode(text) == BY_TIME


@pytest.mark.parametrize("text", ["", "?", "e30=", "bnVsbA==", "W10=", BY_ID_TEXT[:-8], BY_ID_TEXT[4:], 7])
def test_what_is_no_cursor_is_refused(text: Any) -> None:
    """The text is named."""
    with pytest.raises(ValidationError, match="no cursor"):
        JobListParams(after=text)


def test_a_cursor_belongs_to_its_order() -> None:
    """Checklist 147."""
    with pytest.raises(ValidationError, match=r"'scheduled_at'.*'id'"):
        JobListParams(after=BY_TIME_TEXT)
    assert JobListParams(after=BY_TIME_TEXT, order_by="scheduled_at").after == BY_TIME


REFUSED: list[dict[str, Any]] = [
    {"ids": ["7"]},
    {"ids": 7},
    {"ids": [2**63]},
    {"kinds": "mail"},
    {"kinds": [7]},
    {"queues": ["a\x00"]},
    {"priorities": [0]},
    {"priorities": [True]},
    {"states": ["done"]},
    {"tags_any": "tag"},
    {"tags_all": {"tag": 1}},
    {"metadata": '{"a": 1}'},
    {"metadata": {"a": "\x00"}},
    {"order_by": "created_at"},
    {"order_by": "time", "states": {"running"}},
    {"direction": "up"},
    {"limit": 0},
    {"limit": 10_001},
    {"limit": True},
    {"after_id": -1},
    {"after_id": 7, "after": BY_ID},
    {"after_id": 7, "order_by": "time"},
    {"order_by": "finalized_at", "states": ["completed", "retryable"]},
]


@pytest.mark.parametrize("fields", REFUSED, ids=str)
def test_a_list_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    """Checklist 147 and 149. The text names the parameter."""
    with pytest.raises(ValidationError, match=next(iter(fields))):
        JobListParams(**fields)


def test_metadata_that_json_lacks_is_refused() -> None:
    """Checklist 148. As everywhere else."""
    with pytest.raises(ValidationError, match="JSON"):
        JobListParams(metadata={"a": object()})


def test_finalized_at_means_final_jobs() -> None:
    """Checklist 149. Unless some of the final states are named."""
    assert set(JobListParams(order_by="finalized_at").states) == FINAL_STATES
    assert JobListParams(order_by="finalized_at", states=["completed"]).states == ["completed"]


@pytest.mark.parametrize(
    ("states", "column"),
    [
        ([], "scheduled_at"),
        (["available", "completed"], "scheduled_at"),
        (["pending"], "scheduled_at"),
        (["retryable"], "scheduled_at"),
        (["scheduled"], "scheduled_at"),
        (["running", "completed"], "attempted_at"),
        (["cancelled", "running"], "finalized_at"),
        (["completed"], "finalized_at"),
        (["discarded"], "finalized_at"),
    ],
)
def test_the_first_state_decides_which_time_counts(states: list[str], column: str) -> None:
    """As in River; without states it is `scheduled_at`."""
    assert JobListParams(order_by="time", states=states).sort_column == column


def test_everything_is_deleted_only_on_purpose() -> None:
    """Checklist 150. Empty filters are no filters, and the switch goes with none."""
    given: list[dict[str, Any]] = [
        {},
        {"ids": []},
        {"states": [], "metadata": {}},
        {"limit": 5},
        {"unsafe_all": 1},
    ]
    for fields in given:
        with pytest.raises(ValidationError, match="unsafe_all"):
            JobDeleteManyParams(**fields)
    with pytest.raises(ValidationError, match="unsafe_all"):
        JobDeleteManyParams(kinds=["a"], unsafe_all=True)
    assert JobDeleteManyParams(unsafe_all=True).is_empty


UPDATES: list[tuple[str, Any]] = [
    ("max_attempts", 0),
    ("max_attempts", 32_768),
    ("max_attempts", None),
    ("max_attempts", True),
    ("attempt", -1),
    ("attempt", 32_768),
    ("attempt", 1.0),
    ("attempted_at", datetime(2026, 8, 7)),  # noqa: DTZ001 - what is refused
    ("finalized_at", "2026-08-07T00:00:00Z"),
    ("attempted_by", "client"),
    ("attempted_by", [None]),
    ("errors", [{"error": "x"}]),
    ("errors", [AttemptError(datetime(2026, 8, 7), 1, "x", "")]),  # noqa: DTZ001 - what is refused
    ("metadata", None),
    ("metadata", [1]),
    ("state", "done"),
    ("state", None),
]


@pytest.mark.parametrize(("name", "value"), UPDATES)
def test_an_update_that_cannot_be_stored_is_refused(name: str, value: Any) -> None:
    """Checklist 111. The text names the column."""
    with pytest.raises(ValidationError, match=name):
        JobUpdateParams(**{name: value})


@pytest.mark.parametrize("attempts", [(0, 1), (32_767, 32_767)])
def test_the_bounds_themselves_are_taken(attempts: tuple[int, int]) -> None:
    """Checklist 111."""
    params = JobUpdateParams(attempt=attempts[0], max_attempts=attempts[1])
    assert params.given() == {"attempt": attempts[0], "max_attempts": attempts[1]}


def test_an_output_has_a_limit() -> None:
    """Checklist 109. In bytes of JSON, the quotes included."""
    assert JobUpdateParams(output="x" * (MAX_OUTPUT_BYTES - 2)).encoded()
    for value in ("x" * (MAX_OUTPUT_BYTES - 1), "é" * (MAX_OUTPUT_BYTES // 2)):
        with pytest.raises(ValidationError, match="33554432"):
            JobUpdateParams(output=value).encoded()


@pytest.mark.parametrize(
    "value", [float("nan"), object(), {1: 2}, "\x00"], ids=["nan", "object", "number key", "NUL"]
)
def test_an_output_is_json(value: Any) -> None:
    """What Postgres cannot store included."""
    with pytest.raises(ValidationError):
        JobUpdateParams(output=value).encoded()


def test_none_is_a_value_and_not_given_is_another() -> None:
    """Checklist 109."""
    assert JobUpdateParams().given() == {}
    assert JobUpdateParams(output=None).encoded() == {"output": "null"}
    assert JobUpdateParams(output=UNSET).encoded() == {}


def test_options_come_as_an_object_or_as_keywords() -> None:
    """Not both; an unknown keyword is answered with the known ones."""
    params = JobListParams(limit=5)
    assert options(JobListParams, params, {}) is params
    assert options(JobListParams, None, {"limit": 5}) == params
    with pytest.raises(ValidationError, match="not both: limit"):
        options(JobListParams, params, {"limit": 6})
    with pytest.raises(ValidationError, match="order; the options are ids, kinds"):
        options(JobListParams, None, {"order": "id"})
    with pytest.raises(ValidationError, match="JobListParams"):
        options(JobListParams, JobUpdateParams(), {})
