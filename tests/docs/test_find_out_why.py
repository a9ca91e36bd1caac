"""The statements of the page that finds out why a task does not run, each on the databases it is for."""

from __future__ import annotations

import re
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_compat.celery import Celery
from river_core import task_rows
from river_core.db import queues
from river_core.db.statement import Dialect, Statement
from river_core.drivers.base import Driver
from river_core.drivers.sqlite_json import NATIVE_SINCE
from river_core.job import AttemptError
from tests.docs.documents import ROOT, Document

PAGE = Document(ROOT / "docs/howto/find-out-why.md")
STATEMENTS = {block.partition("\n")[0].removeprefix("-- "): block for block in PAGE.blocks({"sql"})}
TASK_ID = "3c9bbc64-c9cc-4709-bc0a-e9778e920bc1"
REASON = "task 'shop.renamed' is not registered in this worker"
FOR_POSTGRES = "Postgres: "


@pytest.fixture
def app(driver: Driver) -> Celery:
    """An application whose database has one row for each question of the page."""
    app = Celery("shop", set_as_current=False, river_driver=driver)
    client = app.runtime.client
    soon = datetime.now(UTC) + timedelta(hours=1)

    def sent(name: str, task_id: str | None = None, **options: Any) -> int:
        result = app.send_task(name, task_id=task_id, **options)
        return task_rows.find_by_task_id(driver, result.id)[0].id

    sent("shop.dead", TASK_ID, queue="dead")
    sent("shop.held", queue="held")
    aside = sent("shop.renamed", eta=soon)
    client.job_update(aside, metadata={"python_task_waiting": REASON})
    runs = sent("shop.runs")
    now = datetime.now(UTC)
    client.job_update(
        runs, state="running", attempt=1, attempted_at=now, attempted_by=["celery@a_1", "celery@b_2"]
    )
    failed = sent("shop.failed")
    client.job_update(
        failed,
        state="discarded",
        attempt=1,
        attempted_at=now,
        finalized_at=now,
        errors=[AttemptError(now, 1, "OSError: first", ""), AttemptError(now, 2, "ValueError: no", "")],
    )
    with driver.connect() as connection:
        connection.fetch(queues.queue_create_or_set_updated_at(driver.sql, "held"))
    client.queue_pause("held")
    return app


def answer(app: Celery, name: str) -> list[tuple[Any, ...]]:
    """Run a statement as its reader would; a SQLite before 3.45 is given the JSON text of a column."""
    driver, text = app.runtime.driver, STATEMENTS[name]
    if driver.sql.dialect is Dialect.SQLITE and sqlite3.sqlite_version_info < NATIVE_SINCE:
        text = re.sub(r"\b(args|metadata) (?=->)", r"json(\1) ", text)
    with driver.connect() as connection:
        return [tuple(row) for row in connection.fetch(Statement(name, text, {}))]


def test_queues_tell_what_waits_and_who_works_them(app: Celery) -> None:
    """A queue that no worker has worked has no time of work; a paused one has when."""
    found = {row[0]: row[1:] for row in answer(app, "the queues")}
    assert {name: row[:3] for name, row in found.items()} == {
        "celery": (0, 1, 1),
        "dead": (1, 0, 0),
        "held": (1, 0, 0),
    }
    assert {name for name, (*_, paused, _last) in found.items() if paused} == {"held"}
    assert {name for name, (*_, last) in found.items() if last} == {"held"}
    assert found["dead"][3]


def test_tasks_tell_what_waits_by_name(app: Celery) -> None:
    """In every state that has not ended."""
    found = [row[:4] for row in answer(app, "the tasks")]
    assert sorted(found) == [
        ("shop.dead", "dead", "available", 1),
        ("shop.held", "held", "available", 1),
        ("shop.renamed", "celery", "scheduled", 1),
        ("shop.runs", "celery", "running", 1),
    ]


def test_the_oldest_comes_first(app: Celery) -> None:
    """Of those that are due."""
    assert [row[3] for row in answer(app, "the oldest")] == ["shop.dead", "shop.held"]


def test_rows_that_were_put_aside_tell_why(app: Celery) -> None:
    """By reason, with their number."""
    assert [row[:3] for row in answer(app, "why they wait")] == [(REASON, "celery", 1)]


def test_rows_of_one_task_are_found(app: Celery) -> None:
    """By its id, on any database."""
    assert [row[1:3] for row in answer(app, "one task, slowly")] == [("dead", "available")]


def test_statements_for_postgres(app: Celery) -> None:
    """What runs and where, what failed and of what, one task by the index, and what is hurried."""
    if app.runtime.driver.sql.dialect is not Dialect.POSTGRES:
        return
    [running] = answer(app, f"{FOR_POSTGRES}what runs")
    assert (running[1], running[2], running[3], running[5]) == ("shop.runs", "celery", 1, "celery@b_2")
    [failed] = answer(app, f"{FOR_POSTGRES}what failed")
    assert (failed[1], failed[4]) == ("shop.failed", "ValueError: no")
    [one] = answer(app, f"{FOR_POSTGRES}one task")
    assert one[1:3] == ("dead", "available")
    answer(app, f"{FOR_POSTGRES}hurry")
    found = {row[0]: row[2] for row in answer(app, "the tasks")}
    assert found["shop.renamed"] == "available"


def test_every_statement_of_the_page_is_tested() -> None:
    """A statement that is new here needs its facts above."""
    assert set(STATEMENTS) == {
        "the queues",
        "the tasks",
        "the oldest",
        "why they wait",
        "one task, slowly",
        *(f"{FOR_POSTGRES}{name}" for name in ("what runs", "what failed", "one task", "hurry")),
    }
