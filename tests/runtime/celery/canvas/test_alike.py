"""Members of a workflow that are made after the first of them have the rows of the ordinary way."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from river_compat.celery import Celery, chord, group, signals
from river_compat.celery.canvas import alike, launching
from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.links import FEEDS, MEMBERS
from tests.runtime.celery.rows import ARGUMENTS, TASK_ID


def stored(driver: Driver, app: Celery) -> list[tuple[Any, ...]]:
    """Return what was stored, ids as they were met, and forget it."""
    seen: dict[str, str] = {}

    def known(match: re.Match[str]) -> str:
        return seen.setdefault(match[0], f"id-{len(seen)}")

    rows = sorted(Client(driver).job_list(limit=10_000).jobs, key=lambda row: row.id)
    first = rows[0].id
    found = [
        (
            row.id - first,
            TASK_ID.sub(known, row.encoded_args),
            _without_ids(row.encoded_metadata, first),
            (row.queue, row.state, row.priority, row.max_attempts, row.scheduled_at is None),
        )
        for row in rows
    ]
    with driver.connect() as connection:
        connection.run_script("DELETE FROM river_job")
    return found


def _without_ids(text: str, first: int) -> dict[str, Any]:
    """Return metadata with the row ids in it counted from the first."""
    metadata: dict[str, Any] = json.loads(text)
    for key, ids in ((FEEDS, r"\d+(?=:)"), (MEMBERS, r"\d+")):
        if key in metadata:
            metadata[key] = re.sub(ids, lambda match: str(int(match[0]) - first), metadata[key])
    return metadata


def _workflows(tasks: SimpleNamespace) -> dict[str, Any]:
    members = [tasks.add.s(value, y=value) for value in ARGUMENTS]
    empty = [tasks.ignore.s() for _ in range(12)]
    mixed = [tasks.add.s(n, n).set(priority=1 + n % 2) if n % 3 else tasks.say.si(n) for n in range(20)]
    return {
        "group": lambda: group(members).apply_async(),
        "no arguments": lambda: group(empty).apply_async(),
        "arguments in front": lambda: group([tasks.say.s() for _ in range(12)]).apply_async(("x",)),
        "options": lambda: group([tasks.add.s(n, 1).set(queue="q", shadow="s") for n in range(12)]).delay(),
        "compressed": lambda: group([tasks.add.s(n, 1).set(compression="bzip2") for n in range(12)]).delay(),
        "links": lambda: group([tasks.add.s(n, 1).on_error(tasks.say.s()) for n in range(12)]).delay(),
        "stamps": lambda: _stamped(group([tasks.add.s(n, 1) for n in range(12)])),
        "ignored": lambda: group([tasks.add.s(n, 1).set(ignore_result=True) for n in range(12)]).delay(),
        "mixed": lambda: group(mixed).apply_async(),
        "chord": lambda: chord(members, tasks.say.s())(),
        "chord in a group": lambda: group([*members, chord(members, tasks.say.s())]).delay(),
        "in a chain": lambda: (tasks.say.s(1) | group(members) | tasks.say.s()).delay(),
    }


def _stamped(work: Any) -> Any:
    work.stamp(colour=["red", 2])
    return work.delay()


SHAPES = (
    *("group", "no arguments", "arguments in front", "options", "links", "stamps", "ignored", "mixed"),
    *("compressed", "chord", "chord in a group", "in a chain"),
)


@pytest.mark.parametrize("name", SHAPES)
def test_the_rows_are_those_of_the_ordinary_way(
    app: Celery, driver: Driver, tasks: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Row 8.4. Text by text."""
    app.conf.task_priority_scheme = "redis"
    _workflows(tasks)[name]()
    quick = stored(driver, app)
    monkeypatch.setattr(alike, "FEW", 10_000)
    _workflows(tasks)[name]()
    assert quick == stored(driver, app)


def test_most_members_are_made_after_the_first(
    app: Celery, tasks: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 8.4. The ordinary way is gone once for a group."""
    for signal in (signals.before_task_publish, signals.after_task_publish, signals.task_sent):
        monkeypatch.setattr(signal, "receivers", [])  # what other tests of this process left connected
    sent: list[str] = []
    ordinary = launching._send_step

    def send(step: Any, app: Any) -> None:
        sent.append(step.sig.task)
        ordinary(step, app)

    monkeypatch.setattr(launching, "_send_step", send)
    group(tasks.add.s(n, n) for n in range(50)).delay()
    assert len(sent) == 1


def test_an_overridden_apply_async_sees_each_member(app: Celery) -> None:
    """Row 1.10. And a wrapper that a tracer puts around it, too."""
    seen: list[Any] = []

    class Watched(app.Task):  # type: ignore[name-defined, misc]
        def apply_async(self, args: Any = None, *more: Any, **options: Any) -> Any:
            seen.append(args)
            return super().apply_async(args, *more, **options)

    @app.task(base=Watched)
    def watched(n: int) -> None:
        """Do nothing."""

    group(watched.s(n) for n in range(20)).delay()
    assert seen == [(n,) for n in range(20)]


def test_receivers_hear_of_each_member(app: Celery, tasks: SimpleNamespace) -> None:
    """Row 14.1. As of single calls."""
    heard: list[Any] = []

    def hear(**facts: Any) -> None:
        heard.append(facts["body"][0])

    signals.before_task_publish.connect(hear)
    try:
        group(tasks.say.s(n) for n in range(20)).delay()
    finally:
        signals.before_task_publish.disconnect(hear)
    assert [tuple(args) for args in heard] == [(n,) for n in range(20)]


def test_arguments_of_each_member_are_checked(driver: Driver, tasks: SimpleNamespace) -> None:
    """Row 3.2. One that the task does not take refuses the group."""
    members = [tasks.add.s(n, n) for n in range(20)]
    members[13] = tasks.add.s(1, 2, 3)
    with pytest.raises(TypeError):
        group(members).delay()
    assert Client(driver).job_list(limit=1).jobs == []
