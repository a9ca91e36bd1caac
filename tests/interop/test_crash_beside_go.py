"""Crashes in a mixed fleet: Python workers look after their own rows, whoever leads, and after no others."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from tests.acceptance.commands import environment
from tests.acceptance.commands import worker as celery_worker
from tests.interop.peers import Peer, Site, wait_for

JOBS = 50
WITHIN = 30.0
HORIZON = 6
STUCK_ROW = """
INSERT INTO river_job (kind, queue, args, state, attempt, attempted_at, attempted_by, max_attempts)
VALUES ('interop_python', 'nobody', '{}', 'running', 1, now() - interval '10 minutes', ARRAY['somebody'], 25)
RETURNING id
"""


def hold(site: Site, peer: Peer, kind: str, queue: str, count: int) -> list[int]:
    """Have a worker run that many jobs, which last until `site.release` exists; return their ids."""
    ids = peer.insert(kind, queue, [{"release": str(site.release)}] * count)
    wait_for(lambda: site.begun(peer).keys() >= set(ids), f"the begin of all jobs of {queue}")
    return ids


def claims(site: Site, ids: list[int]) -> set[tuple[Any, ...]]:
    """State, attempt and clients of some jobs."""
    rows = site.query("SELECT id, state::text, attempt, attempted_by FROM river_job")
    return {(state, attempt, tuple(clients)) for job_id, state, attempt, clients in rows if job_id in ids}


def test_the_jobs_of_a_killed_worker_run_on_another_while_go_leads(site: Site) -> None:
    """All within 30 seconds: recovery is not the leader's."""
    size = f"python={JOBS}"
    with site.go() as leader:
        site.wait_leader(leader)
        with site.python("-queues", size) as victim:
            ids = hold(site, victim, "interop_python", "python", JOBS)
            with site.python("-queues", size) as survivor:
                victim.kill()
                wait_for(lambda: site.begun(survivor).keys() == set(ids), "the start elsewhere", WITHIN)
                site.release.touch()
                wait_for(lambda: site.all_in(ids, "completed"), "the end of all jobs")
                assert site.leader() == leader.id
                assert claims(site, ids) == {("completed", 2, (victim.id, survivor.id))}
                assert leader.complaints() == []


def test_the_rows_of_a_killed_go_client_stay_the_rescuers(site: Site) -> None:
    """They are untouched when the jobs of a Python worker that died at the same moment run again."""
    with site.go() as go, site.python("-queues", "python=1") as victim:
        of_go = hold(site, go, "interop_hold", "go", 5)
        of_python = hold(site, victim, "interop_hold", "python", 1)
        with site.python("-queues", "go=10,python=1") as survivor:
            go.kill()
            victim.kill()
            wait_for(lambda: site.begun(survivor).keys() == set(of_python), "the start elsewhere")
            site.wait_leader(survivor)
            assert claims(site, of_go) == {("running", 1, (go.id,))}


def test_tasks_three_times_as_long_as_a_go_leaders_horizon_run_once(site: Site) -> None:
    """A job of a native worker and a Celery task live through both looks that the leader takes.

    Rows that nobody renews, written just before, show that it looked: it discards them.
    """
    refresh = HORIZON / 3
    (site.folder / "tasks.py").write_text(CELERY_TASK.format(refresh))
    env = {"RIVER_DATABASE_URL": site.url, "PYTHONPATH": str(site.folder)}
    with (
        site.python("-refresh-after", f"{refresh}", "-never-leads") as works,
        celery_worker(site.folder, env=env),
    ):
        [job] = hold(site, works, "interop_python", "python", 1)
        delay(site, env)
        task = wait_for(lambda: running_task(site), "the begin of the task")
        wait_for(lambda: all(older_than(site, item, HORIZON + 1) for item in (job, task)), "their age")
        for_first_look = stuck_row(site)
        with site.go("-rescue-after", f"{HORIZON}s") as leader:
            works.tell("resign")  # the Celery worker leads so far
            wait_for(lambda: site.all_in([for_first_look], "discarded"), "the leader's first look")
            for_second_look = stuck_row(site)
            wait_for(lambda: site.all_in([for_second_look], "discarded"), "the leader's second look")
            assert site.leader() == leader.id
            assert all(older_than(site, item, 3 * HORIZON) for item in (job, task))
            assert site.all_in([job, task], "running")
            site.release.touch()
            wait_for(lambda: site.all_in([job, task], "completed"), "the success of both")
    assert claims(site, [job]) == {("completed", 1, (works.id,))}
    assert site.begun() == {job: 1}
    [(attempt, outcome, output)] = site.query(TASK_END.format(task))
    assert (attempt, outcome, output) == (1, "succeeded", "1")


CELERY_TASK = """
import time
from pathlib import Path
from river_compat.celery import Celery

app = Celery("tasks")
app.conf.river_refresh_attempts_after = {}


@app.task
def hold():
    with Path("runs").open("a") as file:
        file.write("x")
    while not Path("release").exists():
        time.sleep(0.05)
    return len(Path("runs").read_text())
"""
TASK_END = """
SELECT attempt, metadata->>'python_task_outcome', metadata->>'output' FROM river_job WHERE id = {}
"""


def delay(site: Site, env: dict[str, str]) -> None:
    """Call the task as its application does."""
    call = [sys.executable, "-c", "import tasks; tasks.hold.delay()"]
    subprocess.run(call, cwd=site.folder, env=environment(env), check=True, timeout=60)


def running_task(site: Site) -> int:
    """The id of the row of the Celery task, once it runs."""
    rows = site.query("SELECT id FROM river_job WHERE kind = 'python_task' AND state = 'running'")
    return int(rows[0][0]) if rows else 0


def stuck_row(site: Site) -> int:
    """Write a row that looks stuck, of a kind that Go does not know; return its id."""
    return int(site.query(STUCK_ROW)[0][0])


def older_than(site: Site, job_id: int, seconds: int) -> bool:
    """Whether the job has been running for that long, by the true start that is kept in its metadata."""
    sql = f"""
    SELECT (metadata #>> '{{python_attempted_at,at}}')::timestamptz < now() - interval '{seconds} seconds'
    FROM river_job WHERE id = {job_id}
    """
    return bool(site.query(sql)[0][0])
