"""Chains, groups and chords run to their ends."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from river_compat.celery import Celery, chain, chord, group
from river_compat.celery.exceptions import ChordError
from tests.runtime.celery.conftest import Working

WAIT = 20.0


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
            [3, 4, 9],
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
