"""River's Go client and our worker on one database, as processes: each does its part for the other."""

from __future__ import annotations

import pytest

from tests.interop.peers import Site, wait_for

OTHER = {"go": "python", "python": "go"}
LANGUAGES = pytest.mark.parametrize("actor", ["go", "python"])
JOBS = 200


@LANGUAGES
def test_each_inserts_for_the_other(site: Site, actor: str) -> None:
    """The other works them, each once, and neither logs a complaint."""
    worker_language = OTHER[actor]
    with site.peer(actor) as inserts, site.peer(worker_language) as works:
        ids = inserts.insert("interop_work", worker_language, [{"n": n, "how": "ok"} for n in range(JOBS)])
        wait_for(lambda: site.all_in(ids, "completed"), "the end of all jobs")
        assert site.begun(works) == dict.fromkeys(ids, 1)
        inserts.stop()
        works.stop()
        assert inserts.complaints() + works.complaints() == []


@LANGUAGES
def test_each_cancels_the_others_running_job(site: Site, actor: str) -> None:
    """The body hears it, and the row ends as cancelled; the job beside it goes on."""
    victim_language = OTHER[actor]
    with site.peer(actor) as cancels, site.peer(victim_language) as works:
        held = {"release": str(site.release)}
        job, beside = works.insert("interop_hold", victim_language, [held, held])
        wait_for(lambda: site.begun(works).keys() >= {job, beside}, "the begin of both")
        assert cancels.tell("cancel", id=job)["state"] == "running"
        wait_for(lambda: site.all_in([job], "cancelled"), "the cancelled row")
        assert [entry["id"] for entry in site.entries("stopped")] == [job]
        assert site.all_in([beside], "running")
        site.release.touch()
        wait_for(lambda: site.all_in([beside], "completed"), "the end of the other")


@LANGUAGES
def test_each_pauses_and_resumes_the_others_queue(site: Site, actor: str) -> None:
    """While one queue is paused the worker's second one goes on, through two rounds of polling."""
    language = OTHER[actor]
    with site.peer(actor) as pauses, site.peer(language, "-queues", f"{language}=5,beside=5") as works:

        def round_trip() -> None:
            [job] = pauses.insert("interop_work", "beside", [{"n": 0, "how": "ok"}])
            wait_for(lambda: site.all_in([job], "completed"), "a job of the other queue")

        pauses.tell("pause", queue=language)
        round_trip()
        [inserted] = site.query("SELECT clock_timestamp()")
        ids = pauses.insert("interop_work", language, [{"n": n, "how": "ok"} for n in range(5)])
        polled_twice = f"SELECT clock_timestamp() > '{inserted[0]}'::timestamptz + interval '2.2 seconds'"
        wait_for(lambda: site.query(polled_twice)[0][0], "the time of two polls")
        round_trip()
        assert site.all_in(ids, "available")
        pauses.tell("resume", queue=language)
        wait_for(lambda: site.all_in(ids, "completed"), "the jobs of the resumed queue")
        assert site.begun(works).keys() >= set(ids)


@LANGUAGES
def test_each_takes_over_when_the_other_is_killed(site: Site, actor: str) -> None:
    """The term of the dead runs out; the new leader promotes what falls due."""
    with site.peer(OTHER[actor]) as first:
        site.wait_leader(first)
        with site.peer(actor) as second:
            first.kill()
            assert site.leader() == first.id
            site.wait_leader(second)
            [job] = second.insert("interop_work", actor, [{"n": 0, "how": "ok"}])
            wait_for(lambda: site.all_in([job], "completed"), "a job")
            site.query(RETRYABLE.format(job))
            wait_for(lambda: site.begun(second)[job] == 2, "the promotion by the new leader")
            assert second.complaints() == []


RETRYABLE = """
UPDATE river_job SET state = 'retryable', finalized_at = NULL, scheduled_at = now() WHERE id = {}
"""


def term(site: Site) -> list[tuple[str, str]]:
    """Who leads, and since when."""
    return site.query("SELECT leader_id, elected_at::text FROM river_leader")


@LANGUAGES
def test_each_steps_down_when_the_other_asks(site: Site, actor: str) -> None:
    """Its term ends. Ours lets another lead; Go (0.43) bids again at once, and mostly succeeds itself."""
    with site.peer(OTHER[actor]) as first:
        site.wait_leader(first)
        with site.peer(actor) as second:
            before = term(site)
            second.tell("resign")
            wait_for(lambda: term(site) not in (before, []), "another term")
            if actor == "go":
                assert site.leader() == second.id
            assert first.complaints() + second.complaints() == []
