"""The check of public applications: what it calls tasks with, and what it makes of their outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.peer.applications.comparing import compare, passed, summary
from tests.peer.applications.inside.arguments import made_up
from tests.peer.applications.profile import read_profile

PROFILES = Path(__file__).parents[1] / "peer/applications/profiles"


def outcome(state: str = "SUCCESS", value: str = "None", **more: Any) -> dict[str, Any]:
    return {"state": state, "value": value, "stored": [state, value], "sent": [], "waiting": [], **more}


@pytest.mark.parametrize(
    "other",
    [
        outcome("FAILURE", "KeyError"),
        outcome(value="2"),
        outcome(stored=["PENDING", "None"]),
        outcome(sent=[["other", "SUCCESS", "None"]]),
        outcome(waiting=["other"]),
    ],
)
def test_whatever_differs_fails_unless_there_is_a_reason(other: dict[str, Any]) -> None:
    """Equal outcomes pass; a task that one side does not know differs."""
    assert passed(compare({"a.b": outcome()}, {"a.b": outcome()}, {}))
    assert not passed(compare({"a.b": outcome()}, {"a.b": other}, {}))
    assert not passed(compare({"a.b": outcome()}, {}, {}))
    assert passed(compare({"a.b": outcome()}, {"a.b": other}, {"b": "drawn at random"}))


def test_four_fifths_of_the_tasks_must_run() -> None:
    """A task that fails by itself or asks for another try has run."""
    ran = {"a": outcome("FAILURE", "KeyError"), "b": outcome("RETRY", "KeyError"), "c": outcome()}
    lost = outcome("NOT RUN", "")
    assert passed(compare({**ran, "d": outcome(), "e": lost}, None, {}))
    assert not passed(compare({**ran, "e": lost}, None, {}))
    assert not passed([])
    rows = compare({**ran, "e": lost}, None, {})
    assert summary(rows) == "4 tasks, 3 ran (1 well, 1 retried, 1 failed by themselves)"


def test_what_no_two_runs_share_is_left_out() -> None:
    """Identifiers, times and addresses, and what a profile adds."""
    ours = outcome(value="'at 2026-01-02 03:04:05.678 in 0x7f0011223344, ticket 17'")
    theirs = outcome(value="'at 2025-11-12 13:14:15 in 0x7fa0b0c0d0e0, ticket 18'")
    rows = compare({"a": ours}, {"a": theirs}, {}, [r"ticket \d+"])
    assert "value" not in rows[0].differs
    assert "value" in compare({"a": ours}, {"a": theirs}, {})[0].differs


def test_arguments_are_made_up_for_what_has_no_default() -> None:
    """What is known by name first, then the end of the name, then the type."""

    def task(
        user_id: int, ids: list[int], text: str, count: int, room: Any, many: int = 5, **more: Any
    ) -> None: ...

    made = made_up(task, {"room": "kitchen"})
    assert made == {"user_id": 1, "ids": [1], "text": "text", "count": 1, "room": "kitchen"}


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_profile_can_be_read(path: Path) -> None:
    """Its seed is beside it."""
    profile = read_profile(path)
    assert profile.queues
    assert not profile.seed or (path.parent / profile.seed).is_file()
