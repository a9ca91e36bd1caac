"""What River's own bridge to a framework promises, held by the bridge to Celery's tasks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from river_compat.celery import Celery
from river_core.errors import JobCancelError, JobSnoozeError, ValidationError
from river_core.insert import InsertParams
from river_core.job import JobState
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import rows_of
from tests.runtime.workers import wait_for

GOOD = InsertParams("python_task", '{"version":1}', queue="celery")


@pytest.mark.parametrize("priority", [-1, 10, "1", True])
def test_a_bad_priority_writes_nothing(app: Celery, priority: Any) -> None:
    """Checklist 158. It is refused by name; none at all is River's 1."""
    app.conf.task_priority_scheme = "redis"
    with pytest.raises(ValueError, match="priority"):
        app.send_task("work", task_id="one", priority=priority)
    assert rows_of(app, "one") == []
    app.send_task("work", task_id="one")
    assert [row.priority for row in rows_of(app, "one")] == [1]


@pytest.mark.parametrize("priority", [0, 5, "1", True])
def test_a_batch_with_one_bad_row_writes_none(app: Celery, priority: Any) -> None:
    """Checklist 158. River's own range, which the bridge's rows must keep to."""
    client = app.runtime.client
    with pytest.raises(ValidationError, match="priority"):
        client.insert_params([GOOD, replace(GOOD, priority=priority), GOOD])
    assert client.job_list().jobs == []
    assert len(client.insert_params([GOOD, GOOD])) == 2


@pytest.mark.parametrize(
    ("signal", "state", "attempt"),
    [
        (JobSnoozeError(60), JobState.SCHEDULED, 0),
        (JobCancelError("no more"), JobState.CANCELLED, 1),
    ],
)
def test_control_flow_passes_a_catch_all(
    app: Celery, working: Working, signal: BaseException, state: JobState, attempt: int
) -> None:
    """Checklist 160. No retry is sent; the row itself becomes what was asked for."""

    @app.task(shared=False, autoretry_for=(Exception, BaseException), retry_backoff=False)
    def signals():
        raise signal

    with working():
        result = signals.delay()
        wait_for(lambda: rows_of(app, result.id)[0].state is state, f"the row {state}")
    [row] = rows_of(app, result.id)
    assert row.attempt == attempt
    assert "python_task_retry_id" not in row.metadata


@pytest.mark.foreign_rows
@pytest.mark.parametrize(
    ("metadata", "headers", "named"),
    [
        ('{"python_task_feeds":"x"}', {}, "python_task_feeds"),
        ("{}", {"retries": "x"}, "header retries"),
        ("{}", {"chord": 5}, "header chord"),
        ("{}", {"timelimit": ["q", None]}, "header timelimit"),
        ("{}", {"errbacks": {"a": 1}}, "header errbacks"),
    ],
)
def test_a_strangers_row_ends_before_its_body_runs(
    app: Celery, working: Working, metadata: str, headers: dict[str, Any], named: str
) -> None:
    """Whom it feeds and its headers are read first; the error names what cannot be read."""
    ran: list[int] = []
    app.task(shared=False, name="body")(lambda: ran.append(1))
    task = {"id": "strange", "framework": "celery", "name": "body", "headers": json.dumps(headers)}
    text = json.dumps({"version": 1, "task": task})
    app.runtime.client.insert_params(
        [InsertParams("python_task", text, queue="celery", encoded_metadata=metadata)]
    )
    with working():
        wait_for(lambda: rows_of(app, "strange")[0].state is JobState.DISCARDED, "the end of the row")
    [row] = rows_of(app, "strange")
    assert (row.attempt, ran) == (1, [])
    assert named in row.errors[-1].error


@pytest.mark.parametrize("options", [{"link": 5}, {"link_error": [5]}, {"countdown": "5"}, {"headers": 5}])
def test_a_bad_option_writes_nothing(app: Celery, options: dict[str, Any]) -> None:
    """The error names the option and the value."""
    with pytest.raises(TypeError, match=f"{next(iter(options))} must be .*not '?5"):
        app.send_task("work", task_id="one", **options)
    assert rows_of(app, "one") == []
