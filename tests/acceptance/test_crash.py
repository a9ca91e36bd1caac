"""A worker process that is killed loses nothing: its jobs run on another one within seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from river_core import open_driver
from river_core.drivers.base import Driver
from tests.acceptance.own_server import own_server
from tests.databases import migrate
from tests.interop.peers import Peer, Site, wait_for
from tests.runtime.stored import read

JOBS = 50
WITHIN = 30.0
"""Seconds; some 17 are what a dead worker costs, the rest is for a machine that has other things to do."""
RESTARTED_JOBS = 100
LOCK_SESSION = """
SELECT pid FROM pg_locks
WHERE locktype = 'advisory'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND objid::bigint = ('x' || left(md5(current_schema() || ' ' || '{}'), 8))::bit(32)::bigint
"""


@pytest.fixture
def river(database_url: str) -> Iterator[Driver]:
    """The schema, applied before any worker starts."""
    with closing(open_driver(database_url)) as driver:
        yield migrate(driver)


def hold(site: Site, peer: Peer, queue: str, count: int = JOBS) -> list[int]:
    """Have a worker run that many jobs, which last until `site.release` exists; return their ids."""
    ids = peer.insert("interop_hold", queue, [{"release": str(site.release)}] * count)
    wait_for(lambda: site.begun(peer).keys() >= set(ids), f"the begin of all jobs of {queue}")
    return ids


def test_the_jobs_of_a_killed_leader_run_on_another(river: Driver, database_url: str, tmp_path: Path) -> None:
    """All of them within seconds, with their next attempt; the crash is recorded; none is lost."""
    site = Site(database_url, tmp_path)
    size = f"python={JOBS}"
    with site.python("-queues", size) as victim:
        site.wait_leader(victim)
        ids = hold(site, victim, "python")
        with site.python("-queues", size) as survivor:
            victim.kill()
            wait_for(lambda: site.begun(survivor).keys() == set(ids), "the second start of all jobs", WITHIN)
            site.release.touch()
            wait_for(lambda: site.all_in(ids, "completed"), "the end of all jobs")
            survivor.stop()
    assert site.begun(survivor) == dict.fromkeys(ids, 1)
    for job_id in ids:
        job = read(river, job_id)
        assert (job.attempt, len(job.errors), job.metadata["river:rescue_count"]) == (2, 1, 1)


@pytest.mark.postgres
def test_only_the_dead_whose_locks_tell_are_taken_over(postgres_url: str, tmp_path: Path) -> None:
    """Three accidents at once, seen by a fourth worker.

    The killed one's jobs run again within seconds. Those of the one that lost its lock's connection, and
    leads, go on: none runs twice. Nobody can tell that the killed poll-only client is dead.
    """
    with closing(open_driver(postgres_url)) as driver:
        migrate(driver)
    site = Site(postgres_url, tmp_path)
    with (
        site.python("-queues", f"cut={JOBS}") as cut,
        site.python("-queues", f"killed={JOBS}", "-never-leads") as killed,
        site.python("-queues", "polls=1", "-never-leads", "-poll-only") as polls,
    ):
        site.wait_leader(cut)
        of_cut, of_killed, of_polls = (
            hold(site, cut, "cut"),
            hold(site, killed, "killed"),
            hold(site, polls, "polls", 1),
        )
        with site.python("-queues", f"cut={JOBS},killed={JOBS},polls=1") as observer:
            lock = lock_session(site, cut)
            killed.kill()
            polls.kill()
            site.query(f"SELECT pg_terminate_backend({lock})")
            wait_for(
                lambda: site.begun(observer).keys() == set(of_killed), "the start of all elsewhere", WITHIN
            )
            assert lock_session(site, cut) not in (lock, 0)
            site.release.touch()
            wait_for(lambda: site.all_in([*of_cut, *of_killed], "completed"), "the end of all jobs")
            assert site.begun(cut) == dict.fromkeys(of_cut, 1)
            assert site.begun(observer) == dict.fromkeys(of_killed, 1)
            assert site.all_in(of_polls, "running")
            assert site.begun(polls) == dict.fromkeys(of_polls, 1)
            assert site.leader() == cut.id


def lock_session(site: Site, peer: Peer) -> int:
    """The server's process that holds the worker's lock, 0 for none; the key is the documented one."""
    return next((int(row[0]) for row in site.query(LOCK_SESSION.format(peer.id))), 0)


def test_a_restart_of_the_database_runs_nothing_twice(tmp_path: Path) -> None:
    """200 jobs are running when the server crashes and comes back. They go on, each in its first attempt.

    The worker that dies with it shows that the others judge the dead again afterwards.
    """
    with own_server({"synchronous_commit": "on"}) as server:
        with closing(open_driver(server.url)) as driver:
            migrate(driver)
        site = Site(server.url, tmp_path)
        size = RESTARTED_JOBS
        with (
            site.python("-queues", f"one={size}") as one,
            site.python("-queues", f"two={size}") as two,
            site.python("-queues", "dies=1") as dies,
        ):
            ids = hold(site, one, "one", size) + hold(site, two, "two", size)
            of_the_dead = hold(site, dies, "dies", 1)
            server.restart()
            dies.kill()
            wait_for(lambda: site.all_in(of_the_dead, "available"), "the recovery of the dead worker's job")
            assert site.all_in(ids, "running")
            site.release.touch()
            wait_for(lambda: site.all_in(ids, "completed"), "the end of all jobs")
            one.stop()
            two.stop()
        assert site.begun() == dict.fromkeys([*ids, *of_the_dead], 1)
        assert site.query("SELECT max(attempt), count(*) FROM river_job WHERE state = 'completed'") == [
            (1, 2 * size)
        ]
