"""Chains, groups and chords run to their ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from river_compat.celery import Celery, chain, chord, group
from river_compat.celery.canvas import streaming
from river_compat.celery.exceptions import ChordError
from river_core import task_rows
from river_core.errors import JobSnoozeError
from river_core.links import members_of
from tests.runtime.celery.conftest import Working
from tests.runtime.workers import wait_for

WAIT = 60.0


def test_values_go_through_every_shape(tasks: SimpleNamespace, working: Working) -> None:
    """Row 8.5. Each shape ends with the value that Celery gives."""
    t: Any = tasks
    shapes = [
        (chain(t.add.s(1, 1), t.add.s(2), t.add.s(3)), 7),
        (chain(t.add.s(1, 1), t.add.si(5, 5), t.add.s(1)), 11),
        (chord([t.add.s(i, i) for i in range(4)], t.xsum.s()), 12),
        (group(t.add.s(1, 1), t.add.s(2, 2)) | t.xsum.s() | t.add.s(1), 7),
        (chain(t.add.s(1, 1), group(t.add.s(1), t.add.s(2)), t.xsum.s()), 7),
        (chain(t.identity.s(3), group(t.add.s(1), chain(t.add.s(2), t.add.s(3))), t.identity.s()), [4, 8]),
        (chord([chord([t.add.s(1, 1), t.add.s(2, 2)], t.xsum.s()), t.add.s(3, 3)], t.xsum.s()), 12),
        (
            chord([t.add.s(1, 1) | group(t.add.s(1), t.add.s(2)), t.add.s(0, 9)], t.identity.s()),
            [[3, 4], 9],
        ),
        (
            chain(t.identity.s(1), group(t.add.s(1), t.add.s(2)), group(t.xsum.s(), t.identity.s())),
            [5, [2, 3]],
        ),
        (chain(group(t.add.s(1, 1)), t.add.s(1)), 3),
        (group([t.add.s(1, 1)]) | t.identity.s(), [2]),
        (chord([], t.identity.s()), []),
        (
            t.add.chunks(zip(range(10), range(10), strict=True), 3),
            [[0, 2, 4], [6, 8, 10], [12, 14, 16], [18]],
        ),
        (t.identity.map([1, 2, 3]), [1, 2, 3]),
        (t.add.starmap([(1, 2), (3, 4)]), [3, 7]),
    ]
    with working():
        results = [shape.apply_async() for shape, _ in shapes]
        assert [result.get(timeout=WAIT) for result in results] == [value for _, value in shapes]


def test_a_failure_ends_the_chain_with_its_exception(tasks: SimpleNamespace, working: Working) -> None:
    """Row 8.5. Every later element is FAILURE with the same exception, and none runs."""
    result = chain(tasks.add.s(1, 1), tasks.fail.s(), tasks.say.s(), tasks.say.s()).apply_async()
    with working():
        for node in (result, result.parent, result.parent.parent):
            with pytest.raises(ValueError, match="no"):
                node.get(timeout=WAIT, follow_parents=False)
        assert result.parent.parent.parent.get(timeout=WAIT) == 2
    assert tasks.said == []


@pytest.mark.parametrize(("member", "raised"), [("fail", r"ValueError\('no'\)"), ("ignore", "Ignore")])
def test_a_chord_tells_which_member_broke_it(
    tasks: SimpleNamespace, working: Working, member: str, raised: str
) -> None:
    """Rows 6.1, 8.7. Also one that is ignored, which would leave Celery's chord waiting for ever."""
    bad = getattr(tasks, member).si()
    result = chord([tasks.add.s(1, 1), bad], tasks.say.s()).apply_async()
    with working(), pytest.raises(ChordError) as caught:
        result.get(timeout=WAIT, follow_parents=False)
    assert str(caught.value).startswith(f"Dependency {result.parent[1].id} raised ")
    assert re.search(raised, str(caught.value))
    assert tasks.said == []


def test_a_part_that_ends_in_a_group_is_a_list_for_the_body(tasks: SimpleNamespace, working: Working) -> None:
    """Row 8.7. At any depth; a header that is itself a group stays flat."""
    t: Any = tasks
    inner = chain(t.identity.s(), group(t.add.s(1), t.add.s(2)))
    shapes = [
        (chord(group(t.identity.s(42) | group(t.identity.s(), t.identity.s())), t.identity.s()), [[42, 42]]),
        (chord([chord([t.add.s(1, 1)], group(t.identity.s(), t.xsum.s()))], t.identity.s()), [[[2], 2]]),
        (
            chord([t.add.s(1, 1) | group(inner, t.add.s(5)), t.add.s(0, 9)], t.identity.s()),
            [[[3, 4], 7], 9],
        ),
    ]
    with working():
        results = [shape.apply_async() for shape, _ in shapes]
        assert [result.get(timeout=WAIT) for result in results] == [value for _, value in shapes]


def test_waiting_for_a_body_raises_what_its_header_raised(tasks: SimpleNamespace, working: Working) -> None:
    """Rows 6.1, 8.7. As for a chain; each task of a body that is a group fails so by itself."""
    header = [tasks.add.si(1, 1), tasks.fail.si()]
    with working():
        for body in (tasks.say.s(), tasks.identity.s() | tasks.say.s()):
            with pytest.raises(ValueError, match="no"):
                chord(header, body).apply_async().get(timeout=WAIT)
        result = chord(header, group(tasks.say.s(), tasks.identity.s())).apply_async()
        with pytest.raises(ValueError, match="no"):
            result.get(timeout=WAIT)
        assert [type(member.get(propagate=False)) for member in result] == [ValueError, ValueError]


def test_parts_of_a_generator_run_while_it_makes_more(
    app: Celery, tasks: SimpleNamespace, working: Working
) -> None:
    """Row 8.6. Where the setting says so; the body runs once all have ended, with their values in order."""
    app.conf.river_stream_chords = True

    def parts() -> Iterator[Any]:
        yield tasks.say.si(0)
        yield tasks.say.si(1)
        wait_for(lambda: 0 in tasks.said, "the first part")
        yield tasks.identity.si(2) | group(tasks.identity.s(), tasks.add.s(1))

    with working():
        result = chord(parts(), tasks.identity.s()).apply_async()
        assert result.get(timeout=WAIT) == [0, 1, [2, 3]]
        assert len(result.parent) == 3


def test_a_generator_that_raises_ends_its_chord(
    app: Celery, tasks: SimpleNamespace, working: Working
) -> None:
    """The body never runs with some of the parts; without the setting nothing is written at all."""

    def parts() -> Iterator[Any]:
        yield tasks.add.si(1, 1)
        yield tasks.add.si(1, 1)
        raise LookupError("no more")

    with pytest.raises(LookupError):
        chord(parts(), tasks.say.s()).apply_async(task_id="whole")
    assert app.AsyncResult("whole").state == "PENDING"
    app.conf.river_stream_chords = True
    with working():
        with pytest.raises(LookupError):
            chord(parts(), tasks.say.s()).apply_async(task_id="parts")
        with pytest.raises(ChordError, match="revoked"):
            app.AsyncResult("parts").get(timeout=WAIT)
    assert tasks.said == []


def test_a_sender_that_is_gone_fails_its_chord(
    app: Celery, tasks: SimpleNamespace, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What watches for parts fails when none came for a long time; while some come it looks again."""
    app.conf.river_stream_chords = True
    killed = RuntimeError("as by kill -9")
    monkeypatch.setattr(streaming._Stream, "break_off", lambda self: None)

    def parts() -> Iterator[Any]:
        yield tasks.add.si(1, 1)
        yield tasks.add.si(2, 2)
        raise killed

    with pytest.raises(RuntimeError):
        chord(parts(), tasks.say.s()).apply_async(task_id="orphan")
    [row] = app.runtime.client.job_list(states=["pending"]).jobs
    watcher = task_rows.get_row(app.runtime.driver, members_of(row.metadata)[0])
    with pytest.raises(JobSnoozeError):
        streaming.watch_parts(app, watcher)
    monkeypatch.setattr(streaming, "STALE_SECONDS", 0.0)
    app.runtime.client.job_retry(members_of(row.metadata)[0])
    with working(), pytest.raises(ChordError, match="its sender has stopped"):
        app.AsyncResult("orphan").get(timeout=WAIT)
    assert tasks.said == []


def test_a_step_sees_what_comes_after_it(app: Celery, tasks: SimpleNamespace, working: Working) -> None:
    """Row 4.5. The last one first, up to the next group; a member of a chord sees its body in short."""

    @app.task(bind=True)
    def look(self: Any) -> Any:
        request = self.request
        rest = [[step["task"].rpartition(".")[2], list(step["args"])] for step in request.chain or ()]
        return [rest, request.chord and request.chord["options"]["task_id"]]

    with working():
        alone = look.delay()
        chained = chain(look.s(), tasks.say.si(1), tasks.say.si(2))()
        before_group = chain(look.s(), tasks.say.si(1), group(tasks.say.si(2), tasks.say.si(3)))()
        body = chord([look.s(), tasks.add.s(1, 1)], tasks.identity.s())()
        assert alone.get(timeout=WAIT) == [[], None]
        assert chained.parent.parent.get(timeout=WAIT) == [[["say", [2]], ["say", [1]]], None]
        assert before_group.parent.parent.get(timeout=WAIT) == [[["say", [1]]], None]
        assert body.get(timeout=WAIT)[0] == [[], body.id]
