"""Unique keys against those that River for Go and its conformance suite give."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from river_core.encoding import encode_json
from river_core.errors import ValidationError
from river_core.job import JobState
from river_core.unique import UniqueOpts, UniqueSubject, unique_key, unique_states, unique_text
from tests.vectors import FOLDER, load

NOW = datetime(2026, 8, 7, 14, 32, 57, tzinfo=UTC)

GO_ONLY = {
    "args whole, map type args": "by_args on a type that Go cannot inspect",
    "args whole, raw JSON array": "arguments are always an object here",
    "args whole, raw JSON null": "arguments are always an object here",
    "args whole, raw JSON string": "arguments are always an object here",
    "args whole, invalid UTF-8": "Python's text has no invalid UTF-8",
}
CHANGED = (
    "args whole, key with ",
    "args whole, colon key",
    "args whole, empty key",
    "selected, dotted name",
    "in New York",
    "period 1h with scheduled_at",
    "exclude kind alone",
    "exclude kind with state only",
)
"""Vectors that newer releases change (literal keys, periods in UTC); the upstream cases cover these."""
RECORDED = [
    vector
    for vector in load("unique_keys.json")["vectors"]
    if vector["name"] not in GO_ONLY
    and (not any(part in vector["name"] for part in CHANGED) or "HTML" in vector["name"])
]
UPSTREAM = load("upstream/fixtures/unique_keys.json")


def subject(**given: Any) -> UniqueSubject:
    """Return a subject with what is not given left plain."""
    values: dict[str, Any] = {
        "kind": "send_email",
        "encoded_args": "{}",
        "queue": "default",
        "base_time": NOW,
    }
    return UniqueSubject(**{**values, **given})


def recorded_options(vector: dict[str, Any]) -> UniqueOpts:
    """Return a vector's options; selected fields are those that Go read from its tags."""
    opts = vector["opts"]
    fields = vector.get("unique_fields")
    return UniqueOpts(
        by_args=[field.split(".") for field in fields] if opts["by_args"] and fields else opts["by_args"],
        by_period=opts["by_period_seconds"],
        by_queue=opts["by_queue"],
        by_state=opts["by_state"],
        exclude_kind=opts["exclude_kind"],
    )


@pytest.mark.parametrize("vector", RECORDED, ids=lambda vector: vector["name"].replace(" ", "_"))
def test_keys_and_states_are_those_of_go(vector: dict[str, Any]) -> None:
    """Checklist 33. The hashed text, its hash and the states, or the refusal."""
    opts = recorded_options(vector)
    given = subject(
        kind=vector["kind"],
        encoded_args=vector["encoded_args"],
        queue=vector["queue"],
        base_time=datetime.fromisoformat(vector.get("now", NOW.isoformat())),
    )
    if "error" in vector:
        with pytest.raises(ValidationError):
            (unique_key(opts, given), unique_states(opts))
    elif vector["unique_key"] is None:
        assert not opts
    else:
        assert unique_text(opts, given) == vector["hashed_string"]
        assert unique_key(opts, given).hex() == vector["unique_key"]
        assert unique_states(opts) == vector["unique_states_byte"]


@pytest.mark.parametrize("case", UPSTREAM["cases"], ids=lambda case: case["name"])
def test_keys_are_those_of_the_conformance_suite(case: dict[str, Any]) -> None:
    """These are the rules of the newest release: literal keys, periods of the scheduled time in UTC.

    Checklist 33, 36.
    """
    options, paths = case["options"], case["selected_unique_paths"]
    base = case["scheduled_at"] or case["now"]
    opts = UniqueOpts(
        by_args=[path.split(".") for path in paths] if paths else options["by_args"],
        by_period=timedelta(microseconds=options["by_period_nanos"] / 1000),
        by_queue=options["by_queue"],
        by_state=options.get("by_state"),
        exclude_kind=options["exclude_kind"],
    )
    given = subject(
        kind=case["kind"],
        encoded_args=raw_args(case["name"]),
        queue=case["queue"],
        base_time=datetime.fromisoformat(base),
    )
    assert unique_key(opts, given).hex() == case["expected_sha256"]
    assert unique_states(opts) == case["expected_state_mask"]


def raw_args(name: str) -> str:
    """Return the arguments of an upstream case spelled as Go spells them, minus zero included."""
    cases = load_with_minus_zero()["cases"]
    return encode_json(next(case["args"] for case in cases if case["name"] == name))


def load_with_minus_zero() -> Any:
    """Read the fixture again so that the whole number `-0` keeps its sign."""
    text = (FOLDER / "upstream/fixtures/unique_keys.json").read_text("utf-8")
    return json.loads(text, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))


SELECTIONS: list[tuple[Any, str, str]] = [
    (True, '{"a.b":1,"*":2,"":3,"é<":4,"<":5}', '{"":3,"*":2,"<":5,"a.b":1,"é\\u003c":4}'),
    (True, ' {"b" : [1, 2] , "a":1.10, "b":3 } ', '{"a":1.10,"b":[1, 2]}'),
    ([["account", "id"], "r"], '{"r":"eu","account":{"x":1,"id":7}}', '{"account":{"id":7},"r":"eu"}'),
    (["account.id"], '{"account":{"id":7}}', ""),
    (["account.id"], '{"account.id":7,"account":{"id":8}}', '{"account.id":7}'),
    (["a", ["a", "b"]], '{"a":{"c":2,"b":1}}', '{"a":{"c":2,"b":1}}'),
    ([["a", "x"], "a-b", ["a", "b"]], '{"a":{"b":1,"x":2},"a-b":3}', '{"a-b":3,"a":{"b":1,"x":2}}'),
    (["b", "a", "a"], '{"a":null,"b":1}', '{"a":null,"b":1}'),
    ([["a", "b"]], '{"a":[1]}', ""),
]


@pytest.mark.parametrize(("by_args", "args", "expected"), SELECTIONS)
def test_arguments_go_into_the_key_as_written(by_args: Any, args: str, expected: str) -> None:
    """Checklist 34, 35, 36. Keys are literal and sorted, of repeated ones the first counts, values are raw.

    A selection makes a tree, or nothing at all when nothing is found.
    """
    text = unique_text(UniqueOpts(by_args=by_args), subject(encoded_args=args))
    assert text == f"&kind=send_email&args={expected}"


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        (604_800, "2026-08-03T00:00:00Z"),
        (660, "2026-08-07T14:25:00Z"),
        (timedelta(minutes=15), "2026-08-07T14:30:00Z"),
        (1.5, "2026-08-07T14:32:57Z"),
    ],
)
def test_periods_count_from_the_first_instant_of_year_one(period: Any, expected: str) -> None:
    """Checklist 38, 39. In UTC, whatever zone the time is in; fractions of the start are cut."""
    for moment in (NOW, NOW.astimezone(ZoneInfo("America/New_York"))):
        text = unique_text(UniqueOpts(by_period=period), subject(base_time=moment))
        assert text == f"&kind=send_email&period={expected}"


@pytest.mark.parametrize(
    ("opts", "part"),
    [
        (UniqueOpts(exclude_kind=True), "exclude_kind"),
        (UniqueOpts(exclude_kind=True, by_state=list(JobState)), "exclude_kind"),
        (UniqueOpts(by_period=0.5), "by_period"),
        (UniqueOpts(by_period=-1), "by_period"),
        (UniqueOpts(by_period=float("nan")), "by_period"),
        (UniqueOpts(by_args=[[]]), "by_args"),
        (UniqueOpts(by_state=[*JobState, "sleeping"]), "sleeping"),  # type: ignore[list-item] # unknown is the point
        (UniqueOpts(by_args="customer"), "by_args"),
        (UniqueOpts(by_args=[7]), "by_args"),  # type: ignore[list-item] # the wrong value is the point
    ],
)
def test_options_that_make_no_sense_are_refused(opts: UniqueOpts, part: str) -> None:
    """Checklist 40, 42. The text names the option."""
    with pytest.raises(ValidationError, match=part):
        (unique_key(opts, subject()), unique_states(opts))


def test_missing_states_are_named_in_order() -> None:
    """Checklist 40. A key must hold while a job waits or runs."""
    with pytest.raises(ValidationError, match="pending, running, scheduled"):
        unique_states(UniqueOpts(by_state=[JobState.AVAILABLE]))


def test_the_bits_of_the_states_are_rivers() -> None:
    """As the conformance suite lists them; the default is 245."""
    for item in load("upstream/fixtures/protocol_values.json")["job_states"]:
        required = {"available", "pending", "running", "scheduled"}
        mask = unique_states(UniqueOpts(by_state=sorted(required | {item["state"]})))  # type: ignore[arg-type] # text too
        assert mask & item["unique_bit"]
    assert unique_states(UniqueOpts(by_queue=True)) == 245


def test_options_without_content_are_off() -> None:
    """An empty list of states is something, as in Go."""
    assert not UniqueOpts()
    assert not UniqueOpts(by_args=[], by_period=0)
    assert UniqueOpts(by_state=[])
