"""Workflows survive what kills their workers: every one ends, once, with the right value."""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from river_core import Client, open_driver
from river_core.links import members_of
from river_core.task_rows import get_rows
from tests.acceptance.workflows.running import Plan, examine
from tests.databases import migrate

SHORT = Plan(80, 1, seconds_a_round=1.5, children_a_round=8, rounds=2, set_back_seconds=0.3, set_going=False)


@pytest.mark.timeout(300)
def test_random_workflows_under_random_kills(database_url: str, tmp_path: Path) -> None:
    """Rows 8.5, 8.7. Nested up to four deep, while workers and their children are killed by SIGKILL.

    Every one ends, each of its rows once, with the value or the error that its shape alone foretells; a body
    runs again only where the ledger shows a kill during its run, or somebody set its row back.
    """
    with closing(open_driver(database_url)) as driver:
        migrate(driver)
    found = examine(database_url, tmp_path, SHORT)
    assert found.faults == []
    assert found.worker_kills
    assert found.child_kills
    assert found.reruns


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_ten_thousand_workflows_under_random_kills(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows 8.5, 8.7. The same for an hour's worth of kills; a tenth of it on SQLite."""
    with closing(open_driver(database_url)) as driver:
        migrate(driver)
    count = 1_000 if database_url.startswith("sqlite:") else 10_000
    found = examine(database_url, tmp_path, Plan(workflows=count))
    with capsys.disabled():
        print(f"\n{found}")  # noqa: T201 - the figures are what a long form is for
    assert found.faults == []
    assert min(found.worker_kills, found.child_kills, found.set_back) > count // 200


PRODUCER = """
from river_compat.celery import Celery, chord
app = Celery("producer", broker={url!r})
add = app.task(lambda x, y: x + y, name="add", shared=False, lazy=False)
total = app.task(sum, name="total", shared=False, lazy=False)
while True:
    chord([add.s(n, n) for n in range({width})], total.s()).apply_async()
    print("sent", flush=True)
"""
WIDTH = 1_000


def test_a_producer_that_is_killed_leaves_whole_chords_only(database_url: str) -> None:
    """Case O14. Killed while it sends chords of 1,000 members one after the other, at any moment."""
    with closing(open_driver(database_url)) as driver:
        migrate(driver)
        chance = random.Random(14)  # noqa: S311 - no secret
        for _ in range(3):
            command = [sys.executable, "-c", PRODUCER.format(url=database_url, width=WIDTH)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as producer:
                assert producer.stdout is not None
                assert producer.stdout.readline() == "sent\n"
                with suppress(subprocess.TimeoutExpired):
                    producer.wait(chance.random())
                producer.kill()
        client = Client(driver)
        bodies = client.job_list(states=["pending"], limit=10_000).jobs
        members = {member for body in bodies for member in members_of(body.metadata)}
        assert len(bodies) >= 3
        assert len(members) == WIDTH * len(bodies)
        assert len(get_rows(driver, members)) == len(members)
        newest = client.job_list(limit=10_000, direction="desc").jobs
        assert {job.id for job in newest} <= members | {body.id for body in bodies}
