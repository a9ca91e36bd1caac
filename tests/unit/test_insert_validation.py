"""Checks of single values and the order in which options count, without a database."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from river_core import validation
from river_core.errors import ValidationError
from river_core.insert import EncodedArgs, InsertOpts, InsertParams, JobArgs, JobArgsWithInsertOpts
from river_core.insert_options import InsertDefaults, insert_params
from river_core.job import JobState

DEFAULTS = InsertDefaults(queue="client", max_attempts=7)
NOW = datetime(2026, 8, 7, 14, 32, 57, tzinfo=UTC)
ARGS = EncodedArgs("some_kind", "{}")


class OwnOptions:
    """Arguments whose class gives whatever it is told to."""

    kind = "own_kind"

    def __init__(self, options: Any) -> None:
        """Give these options."""
        self._options = options

    def to_json(self) -> str:
        """Return no arguments."""
        return "{}"

    def insert_opts(self) -> Any:
        """Return the class's options."""
        return self._options


def params(args: JobArgs = ARGS, **options: Any) -> InsertParams:
    """Return the row for these options."""
    return insert_params(args, InsertOpts(**options), DEFAULTS, NOW)


def test_the_protocols_tell_arguments_with_and_without_options() -> None:
    """Both are found by their methods."""
    assert isinstance(ARGS, JobArgs)
    assert not isinstance(ARGS, JobArgsWithInsertOpts)
    assert isinstance(OwnOptions(InsertOpts()), JobArgsWithInsertOpts)


@pytest.mark.parametrize("name", ["a", "1", "a-b_c|d", "a" * 64, "a_" * 31 + "a", "high_priority-2"])
def test_queue_names_that_pass(name: str) -> None:
    """Checklist 20. Lower-case letters and digits with single separators inside, at most 64."""
    assert validation.queue(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "A", "-a", "a-", "_a", "a--b", "a_-b", "a b", "a\n", "a.b", "é", "*", "a" * 65, None, 7, "a\x00"],
)
def test_queue_names_that_fail(name: Any) -> None:
    """Checklist 20. The text names the queue."""
    with pytest.raises(ValidationError, match="queue"):
        validation.queue(name)


def test_a_long_bad_name_is_refused_quickly() -> None:
    """Checklist 20. The pattern has one way to match each name, so it cannot backtrack for years."""
    spent = []
    for _ in range(5):
        started = time.process_time()
        with pytest.raises(ValidationError):
            validation.queue("a" * 63 + "!")
        spent.append(time.process_time() - started)
    assert min(spent) < 0.01


@pytest.mark.parametrize("tag", ["ab1", "a-c", "_bc", "ab_", "ABC", "t" * 255])
def test_tags_that_pass(tag: str) -> None:
    """Checklist 21. Word characters, hyphens inside, 3 to 255."""
    assert validation.tags([tag, tag]) == (tag, tag)


@pytest.mark.parametrize(
    "tag", ["", "a", "ab", "-ab", "ab-", "a,b", "a b", "éab", "abc\n", "t" * 256, None, 7]
)
def test_tags_that_fail(tag: Any) -> None:
    """Checklist 21. One bad tag refuses them all."""
    with pytest.raises(ValidationError, match="tag"):
        validation.tags(["good", tag])


@pytest.mark.parametrize("name", ["priority", "max_attempts"])
def test_zero_and_none_mean_not_given(name: str) -> None:
    """As in all of River's clients."""
    zero: dict[str, Any] = {name: 0}
    none: dict[str, Any] = {name: None}
    assert params(**zero) == params(**none) == params()


def test_the_order_is_call_class_client() -> None:
    """Each option by itself."""
    own = OwnOptions(InsertOpts(priority=2, max_attempts=3))
    given = params(own, priority=4)
    assert (given.priority, given.max_attempts, given.queue) == (4, 3, "client")


def test_metadata_merges_and_is_spelled_as_go_spells_it() -> None:
    """Keys of the call win."""
    own = OwnOptions(InsertOpts(metadata={"a": 1, "b": 1}))
    assert params(own, metadata={"b": 2.0, "c": "<"}).encoded_metadata == '{"a":1,"b":2,"c":"\\u003c"}'


def test_tags_of_the_call_replace_those_of_the_class() -> None:
    """An empty list too."""
    own = OwnOptions(InsertOpts(tags=["own"]))
    assert params(own).tags == ("own",)
    assert params(own, tags=[]).tags == ()
    assert params(own, tags=["call"]).tags == ("call",)


def test_a_time_is_kept_in_utc() -> None:
    """Whatever zone it came in."""
    there = datetime(2026, 8, 7, 9, 30, tzinfo=timezone(timedelta(hours=-5)))
    scheduled_at = params(scheduled_at=there).scheduled_at
    assert scheduled_at == there
    assert scheduled_at is not None
    assert scheduled_at.tzinfo is UTC


def test_the_zero_time_of_go_means_not_given() -> None:
    """Year 1 in UTC."""
    given = params(scheduled_at=datetime(1, 1, 1, tzinfo=UTC))
    assert (given.scheduled_at, given.state) == (None, JobState.AVAILABLE)


def test_a_time_outside_the_calendar_is_refused() -> None:
    """Year 1 east of Greenwich is year 0 in UTC."""
    with pytest.raises(ValidationError, match="years"):
        params(scheduled_at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))))


@pytest.mark.parametrize("options", [{}, {"queue": "a"}, None, "queue=a"])
def test_a_class_must_give_options_of_the_right_type(options: Any) -> None:
    """The text names the class."""
    with pytest.raises(ValidationError, match="OwnOptions"):
        params(OwnOptions(options))


@pytest.mark.parametrize("text", [None, b"{}", {"a": 1}])
def test_to_json_must_give_text(text: Any) -> None:
    """The text names the kind."""
    with pytest.raises(ValidationError, match="some_kind"):
        params(EncodedArgs("some_kind", text))


def test_arguments_are_stored_as_they_were_written() -> None:
    """Spaces, number spelling and order of keys stay."""
    text = ' {"b": 1.10, "a": 1e400, "n": ' + "9" * 5000 + "} "
    assert params(EncodedArgs("some_kind", text)).encoded_args == text
