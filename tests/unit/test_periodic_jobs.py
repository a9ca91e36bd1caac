"""Registrations of periodic jobs: what is refused, all or none, handles, and who hears of additions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from river_core.errors import ConfigurationError, ValidationError
from river_core.insert import EncodedArgs
from river_core.periodic import PeriodicJob, PeriodicJobs
from river_core.schedule import IntervalSchedule
from river_core.worker.config import WorkerConfig

HOURLY = IntervalSchedule(3600)


def job(periodic_id: str | None = None, **options: Any) -> PeriodicJob:
    return PeriodicJob(
        options.pop("schedule", HOURLY), lambda: EncodedArgs("tick", "{}"), periodic_id, **options
    )


@pytest.mark.parametrize("periodic_id", ["", "x", "a b", "-ab", "é1", "a" * 128, 5])
def test_ids_are_rivers(periodic_id: Any) -> None:
    """Under 128 characters, of those that a kind may have. Checklist 142."""
    with pytest.raises(ValidationError, match="id of a periodic job"):
        job(periodic_id)
    assert job("a" * 127).id == "a" * 127


def test_a_schedule_that_does_not_go_on_is_refused() -> None:
    """One that returns the time itself would run without end. Checklist 143."""
    with pytest.raises(ValidationError, match="must return a time after"):
        job(schedule=lambda moment: moment)


def test_a_schedule_that_raises_may_be_registered() -> None:
    """It may do better when it counts."""

    def broken(moment: datetime) -> datetime:
        raise LookupError("no calendar yet")

    assert len(PeriodicJobs([job(schedule=broken)])) == 1


def test_what_is_no_schedule_or_constructor_is_refused() -> None:
    """By name."""
    with pytest.raises(ValidationError, match="3600 is neither"):
        job(schedule=3600)
    with pytest.raises(ValidationError, match="constructor"):
        PeriodicJob(HOURLY, EncodedArgs("tick", "{}"))  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("options", [{"durable": True}, {"catch_up": True}])
def test_remembering_needs_an_id(options: dict[str, bool]) -> None:
    """Runs are remembered under it."""
    with pytest.raises(ValidationError, match="needs an id"):
        job(**options)
    assert job("tick", **options).is_durable


def test_a_job_with_an_id_is_remembered_unless_told_otherwise() -> None:
    """`durable=False` is River's own way, and then nothing can be caught up."""
    assert (job("tick").is_durable, job().is_durable, job("tick", durable=False).is_durable) == (
        True,
        False,
        False,
    )
    with pytest.raises(ValidationError, match="durable not set to False"):
        job("tick", durable=False, catch_up=True)


def test_ids_are_unique_and_add_many_is_all_or_none() -> None:
    """A duplicate, of a registered one or in the batch itself, leaves all as it was. Checklist 142."""
    jobs = PeriodicJobs([job("one")])
    for batch in ([job("two"), job("one")], [job("two"), job("two")]):
        with pytest.raises(ValidationError, match="registered already"):
            jobs.add_many(batch)
    assert [entry.job.id for entry in jobs.registrations()] == ["one"]
    assert jobs.add(job("two")) == 2


def test_removing_returns_the_job() -> None:
    """By handle the job or None, by id whether there was one. Checklist 142."""
    jobs = PeriodicJobs()
    added = job("one")
    handle = jobs.add(added)
    assert jobs.remove(handle) is added
    assert jobs.remove(handle) is None
    jobs.add(added)
    assert jobs.remove_by_id("one")
    assert not jobs.remove_by_id("one")


def test_handles_are_never_given_again() -> None:
    """Not after a removal, nor after all were cleared."""
    jobs = PeriodicJobs([job(), job()])
    assert jobs.clear() is jobs
    assert len(jobs) == 0
    assert jobs.add_many([job(), job()]) == [3, 4]


def test_additions_are_told() -> None:
    """Once for each call, and no more after the listener has gone."""
    jobs, heard = PeriodicJobs(), []
    detach = jobs.attach(lambda: heard.append(len(jobs)))
    jobs.add(job())
    jobs.add_many([job(), job()])
    jobs.add_many([])
    detach()
    jobs.add(job())
    assert heard == [1, 3]


def test_a_client_that_never_leads_takes_no_periodic_jobs() -> None:
    """Neither in its configuration nor later. Checklist 131."""
    with pytest.raises(ConfigurationError, match="leader_election_disabled"):
        WorkerConfig(queues={"default": 1}, leader_election_disabled=True, periodic_jobs=[job()])
    with pytest.raises(ConfigurationError, match="leader_election_disabled"):
        PeriodicJobs(may_lead=False).add(job())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"periodic_jobs": [job("one"), job("one")]}, "registered already"),
        ({"maintenance_services": [object()]}, "run"),
        ({"reindexer_timeout": 0}, "reindexer_timeout"),
        ({"reindexer_timeout": -2}, "reindexer_timeout"),
        ({"reindexer_index_names": "river_job_kind"}, "list of names"),
        ({"reindexer_schedule": 5}, "schedule"),
    ],
)
def test_a_worker_refuses_wrong_maintenance_options(options: dict[str, Any], text: str) -> None:
    """Each by name, before anything starts. Checklist 153."""
    with pytest.raises(ConfigurationError, match=text):
        WorkerConfig(queues={"default": 1}, **options)


def test_a_worker_takes_the_other_spellings_of_no_limit() -> None:
    """-1 and None; None and an empty list of indexes. Checklist 153."""
    for timeout in (None, -1, timedelta(minutes=1).total_seconds()):
        for names in (None, [], ["river_job_kind"]):
            WorkerConfig(queues={"default": 1}, reindexer_timeout=timeout, reindexer_index_names=names)
