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
from tests.acceptance.workflows.running import examine
from tests.databases import migrate


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("count", "kills"),
    [(100, 4), pytest.param(10_000, 500, marks=[pytest.mark.long, pytest.mark.timeout(7200)])],
)
def test_random_workflows_under_random_kills(
    database_url: str, tmp_path: Path, count: int, kills: int
) -> None:
    """Rows 8.5, 8.7. Nested up to four deep, while workers are killed by SIGKILL.

    A body runs twice only in another attempt of its row; nothing is lost, nothing doubled.
    """
    with closing(open_driver(database_url)) as driver:
        migrate(driver)
    found = examine(database_url, tmp_path, count, seed=count, kills=kills)
    assert found.faults == []
    assert found.kills == kills


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
