"""River's own fixtures, value by value, against what this code writes and reads."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from river_core.db import notifications
from river_core.db.statement import Dialect
from river_core.decide import snooze_count
from river_core.job import AttemptError, JobRow
from river_core.job_handle import OUTPUT_KEY
from river_core.job_list import JobListCursor
from river_core.retry import MAX_RETRY_SECONDS, retry_seconds
from river_core.worker.maintenance.scheduler import INTERVAL_SECONDS
from tests.unit.test_decide import ROW
from tests.vectors import load

VALUES = load("upstream/fixtures/protocol_values.json")
COUNTERS = load("upstream/fixtures/maintenance_values.json")["snooze_counters"]
RECORDED = load("notifications.json")


def row_with(metadata: dict[str, Any]) -> JobRow:
    """A row with these metadata."""
    return replace(ROW, encoded_metadata=json.dumps(metadata))


@pytest.mark.parametrize("case", COUNTERS, ids=lambda case: case["name"])
def test_snooze_counters_are_rivers(case: dict[str, Any]) -> None:
    """Checklist 165. Whatever is in the key, the next snooze counts on as every client does."""
    assert snooze_count(row_with(case["metadata"])) + 1 == case["expected_snoozes"]


@pytest.mark.parametrize("value", [float("inf"), "٣", "+5", "", {}])
def test_a_counter_that_is_no_number_starts_anew(value: Any) -> None:
    """Nor does one that no client could read."""
    assert snooze_count(row_with({"snoozes": value})) == 0


def test_an_error_is_written_as_river_writes_it() -> None:
    """Keys, and the shortest fraction of the time."""
    expected = VALUES["attempt_error"]
    error = AttemptError(**{**expected, "at": datetime.fromisoformat(expected["at"])})
    assert error.to_json() == expected


@pytest.mark.parametrize("case", VALUES["retry_cases"], ids=lambda case: str(case["error_count"]))
def test_seeded_delays_of_go_lie_within_our_jitter(case: dict[str, Any]) -> None:
    """Checklist 74. Python does not have Go's random numbers, but the same bounds."""
    errors, expected = case["error_count"] - 1, case["expected_delay_ns"] / 1e9
    assert retry_seconds(errors, lambda low, high: low) <= expected * (1 + 1e-9)
    assert retry_seconds(errors, lambda low, high: high) >= expected * (1 - 1e-9)


def test_no_delay_overflows_as_gos_does() -> None:
    """Checklist 74. Go's addition wraps round at the cap; ours stays at it."""
    recorded = load("retry_policy.json")
    assert recorded["max_seconds"] == pytest.approx(MAX_RETRY_SECONDS)
    assert recorded["overflow"]["delta_seconds"] < 0
    assert retry_seconds(recorded["overflow"]["error_count"]) == MAX_RETRY_SECONDS
    assert recorded["scheduler_interval_seconds"] == INTERVAL_SECONDS


def test_topics_are_rivers() -> None:
    """Checklist 52."""
    ours = {
        "control": notifications.TOPIC_CONTROL,
        "insert": notifications.TOPIC_INSERT,
        "leadership": notifications.TOPIC_LEADERSHIP,
    }
    assert ours == VALUES["topics"]


def test_the_key_of_the_output_is_rivers() -> None:
    """The others are names in statements, which the tests of rows compare."""
    assert VALUES["metadata_keys"]["output"] == OUTPUT_KEY


OURS = {
    "job inserted, or made available by the scheduler": notifications.insert_payload("default"),
    "job cancelled": notifications.cancel_payload(62, "unworked"),
    "queue paused": notifications.pause_payload("per_q"),
    "queue resumed": notifications.resume_payload("per_q"),
    "queue metadata changed": notifications.metadata_changed_payload("per_q", '{"a":1}', Dialect.POSTGRES),
    "leader resigned": notifications.resigned_payload("client_main"),
    "resignation asked for": notifications.request_resign_payload(),
}


@pytest.mark.parametrize("form", RECORDED["forms"], ids=lambda form: form["event"])
def test_payloads_are_those_that_go_sent(form: dict[str, Any]) -> None:
    """Checklist 52. As JSON; the spaces differ by sender."""
    assert json.loads(OURS[form["event"]]) == json.loads(form["example"])
    assert form["channel"].removeprefix("SCHEMA.") in VALUES["topics"].values()


def test_a_cursor_is_read_in_either_alphabet() -> None:
    """Checklist 147. With and without padding, as clients of other languages send it."""
    cursor = JobListCursor(2**53 + 1, "kind<>&~~~", "default", "id", None)
    text = cursor.encode()
    assert "-" in text
    for variant in (text, text.rstrip("="), text.replace("-", "+")):
        assert JobListCursor.decode(variant) == cursor
