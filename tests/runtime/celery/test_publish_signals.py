"""The signals around the sending of a call, and what receivers may change."""

from __future__ import annotations

from typing import Any

import pytest

from river_compat.celery import Celery, signals
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import rows_of
from tests.runtime.celery.test_signals import hearing
from tests.runtime.workers import wait_for

PUBLISH = ("before_task_publish", "after_task_publish", "task_sent")


def test_what_receivers_are_told(app: Celery) -> None:
    """The message of protocol 2, once before and once after. Rows 13.1, 13.2, 13.11."""
    add = app.task(lambda x, y: x + y, name="add", shared=False)
    with hearing(*PUBLISH) as heard:
        result = add.apply_async(
            (1,), {"y": 2}, queue="q", headers={"a": 1}, shadow="sum", retry_policy={"x": 1}
        )
    assert [name for name, _ in heard] == list(PUBLISH)
    before, after, sent = (kwargs for _, kwargs in heard)
    assert (before["sender"], before["exchange"], before["routing_key"]) == ("add", "", "q")
    nothing = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    assert before["body"] == ((1,), {"y": 2}, nothing)
    assert before["properties"] == {"correlation_id": result.id, "reply_to": ""}
    assert before["retry_policy"] == {**app.conf.task_publish_retry_policy, "x": 1}
    headers = before["headers"]
    assert after["headers"] == headers
    assert (headers["id"], headers["task"], headers["root_id"]) == (result.id, "add", result.id)
    assert (headers["argsrepr"], headers["kwargsrepr"], headers["lang"]) == ("(1,)", "{'y': 2}", "py")
    assert (headers["shadow"], headers["retries"], headers["a"]) == ("sum", 0, 1)
    assert (sent["task_id"], sent["task"], sent["args"], sent["kwargs"]) == (result.id, "add", (1,), {"y": 2})


def test_changes_in_place_are_stored(app: Celery, working: Working) -> None:
    """Headers of one's own, facts of the call, arguments, properties. Rows 13.1, 22.8."""
    seen: list[Any] = []

    @app.task(bind=True, name="look", shared=False)
    def look(self: Any, **kwargs: Any) -> None:
        request = self.request
        seen.append((request.headers, request.trace, request.shadow, request.properties["app_id"], kwargs))

    def change(body: Any, headers: Any, properties: Any, **_: Any) -> None:
        headers["trace"] = "t1"
        headers["shadow"] = "other"
        properties["app_id"] = "mine"
        body[1]["more"] = 1

    signals.before_task_publish.connect(change)
    with working():
        look.apply_async(kwargs={"own": 0}, headers={"given": 2}).get(timeout=60)
    assert seen == [({"given": 2, "trace": "t1"}, "t1", "other", "mine", {"own": 0, "more": 1})]


def test_a_retry_is_published_too(app: Celery, working: Working) -> None:
    """With the headers that its first run got. Row 13.1."""
    seen: list[Any] = []

    @app.task(bind=True, name="again", shared=False)
    def again(self: Any) -> None:
        seen.append(self.request.headers)
        if not self.request.retries:
            self.retry(countdown=0)

    def once(headers: Any, **_: Any) -> None:
        headers["runs"] = headers.get("runs", 0) + 1

    signals.before_task_publish.connect(once)
    with hearing(*PUBLISH) as heard, working():
        again.delay()
        wait_for(lambda: len(seen) == 2, "both runs")
    assert seen == [{"runs": 1}, {"runs": 2}]
    assert [kwargs["headers"]["retries"] for name, kwargs in heard if name == PUBLISH[0]] == [0, 1]
    assert len(heard) == 2 * len(PUBLISH)


def test_what_is_not_sent_is_not_told_as_sent(app: Celery) -> None:
    """Nor is an eager call published at all."""
    work = app.task(lambda: None, name="work", shared=False)

    def spoil(headers: Any, **_: Any) -> None:
        headers["bad"] = object()

    with hearing(*PUBLISH) as heard:
        signals.before_task_publish.connect(spoil)
        with pytest.raises(Exception, match="no JSON"):
            work.apply_async(task_id="never")
        signals.before_task_publish.disconnect(spoil)
        assert [name for name, _ in heard] == [PUBLISH[0]]
        work.apply()
    assert len(heard) == 1
    assert rows_of(app, "never") == []
