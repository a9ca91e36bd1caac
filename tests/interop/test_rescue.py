"""What each language's leader does with the running rows of a dead client of the other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interop.peers import Peer, Site, wait_for

RESCUED = "Stuck job rescued by JobRescuer"
HORIZON = {
    "go": ("-rescue-after", "1s", "-job-timeout", "1s"),
    "python": ("-rescue-after", "1", "-job-timeout", "1"),
}


def facts(site: Site, job_id: int) -> tuple[Any, ...]:
    """State, attempt and the last error's text of a job."""
    error = "errors[array_upper(errors, 1)]->>'error'"
    return site.query(f"SELECT state::text, attempt, {error} FROM river_job WHERE id = {job_id}")[0]


def strand(site: Site, victim: Peer) -> tuple[list[int], int, int]:
    """Kill a client in the middle of four jobs: two as any, one whose attempts are used up, one cancelled."""
    held = {"release": str(site.release)}
    ids = victim.insert("interop_hold", victim.language, [held] * 4)
    wait_for(lambda: site.begun(victim).keys() == set(ids), "the begin of all jobs")
    victim.kill()
    *plain, exhausted, cancelled = ids
    site.query(f"UPDATE river_job SET max_attempts = 1 WHERE id = {exhausted}")
    return plain, exhausted, cancelled


def aged(site: Site) -> bool:
    """Whether all running rows are older than the horizon."""
    oldest = "max(attempted_at) < now() - interval '1.5 seconds'"
    return bool(site.query(f"SELECT {oldest} FROM river_job WHERE state = 'running'")[0][0])


@pytest.mark.parametrize(("dead", "leads"), [("python", "go"), ("go", "python")])
def test_the_dead_clients_jobs_are_rescued_by_rivers_rules(site: Site, dead: str, leads: str) -> None:
    """Attempts left: once more. None left: discarded. Cancelled meanwhile: cancelled."""
    with site.peer(dead, "-id", "dead") as victim:
        plain, exhausted, cancelled = strand(site, victim)
    wait_for(lambda: aged(site), "the age of the rows")
    with site.peer(leads, *HORIZON[leads]) as leader:
        assert leader.tell("cancel", id=cancelled)["state"] == "running"
        wait_for(lambda: not site.states([*plain, exhausted, cancelled])["running"], "the rescue")
        assert facts(site, exhausted) == ("discarded", 1, RESCUED)
        assert facts(site, cancelled) == ("cancelled", 1, RESCUED)
        wait_for(lambda: site.all_in(plain, "available"), "the promotion")
        assert [facts(site, job_id) for job_id in plain] == [("available", 1, RESCUED)] * 2
        site.release.touch()
        with site.peer(dead) as successor:
            wait_for(lambda: site.all_in(plain, "completed"), "the second attempts")
            assert site.begun(successor).keys() == set(plain)
        assert {facts(site, job_id)[1] for job_id in plain} == {2}


def test_a_go_leader_discards_the_dead_jobs_of_kinds_it_does_not_know(site: Site) -> None:
    """River's rule, whatever attempts are left: why a Python worker should live beside such a leader."""
    with site.python("-id", "dead") as victim:
        [job] = victim.insert("interop_python", "python", [{"release": str(site.release)}])
        wait_for(lambda: site.begun(victim), "the begin")
        victim.kill()
    wait_for(lambda: aged(site), "the age of the row")
    with site.go(*HORIZON["go"]):
        wait_for(lambda: site.all_in([job], "discarded"), "the discarded row")
    assert facts(site, job) == ("discarded", 1, RESCUED)
