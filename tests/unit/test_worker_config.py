"""Options of a worker: defaults that depend on each other, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from river_core.errors import ConfigurationError
from river_core.worker.config import WorkerConfig
from river_core.worker.maintenance.rescuer import UnknownKinds
from river_core.worker.producer import QueueConfig


def config(**options: Any) -> WorkerConfig:
    return WorkerConfig(**{"queues": {"default": 1}, **options})


@pytest.mark.parametrize(
    ("options", "job_timeout", "rescue_after"),
    [
        ({}, 60, 3600),
        ({"job_timeout": 0}, 60, 3600),
        ({"job_timeout": 60}, 60, 3660),
        ({"job_timeout": 5400}, 5400, 9000),
        ({"job_timeout": None}, None, 3600),
        ({"job_timeout": -1}, None, 3600),
        ({"job_timeout": 60, "rescue_stuck_jobs_after": 90}, 60, 90),
    ],
)
def test_the_rescuers_horizon_follows_a_time_out_that_was_given(
    options: dict[str, Any], job_timeout: float | None, rescue_after: float
) -> None:
    """An hour more than it, and an hour where none was given. Checklist 153."""
    made = config(**options)
    assert (made.job_timeout, made.rescue_stuck_jobs_after) == (job_timeout, rescue_after)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"id": ""}, "id"),
        ({"id": "n" * 101}, "id"),
        ({"queues": {"a": 0}}, "max_workers"),
        ({"queues": {"a": 10_001}}, "max_workers"),
        ({"queues": {"a": QueueConfig(1, fetch_cooldown=0.0001)}}, "fetch_cooldown"),
        ({"queues": {"a": QueueConfig(1, fetch_cooldown=3, fetch_poll_interval=2)}}, "fetch_poll_interval"),
        ({"fetch_cooldown": 0.0001}, "fetch_cooldown"),
        ({"fetch_cooldown": 2.0, "fetch_poll_interval": 1.0}, "fetch_poll_interval"),
        ({"job_stuck_threshold": -1}, "job_stuck_threshold"),
        ({"soft_stop_timeout": -1}, "soft_stop_timeout"),
        ({"plugins": [object()]}, "plugin"),
        ({"job_timeout": -2}, "job_timeout"),
        ({"job_timeout": 7200, "rescue_stuck_jobs_after": 3600}, "rescue_stuck_jobs_after"),
        ({"rescue_stuck_jobs_after": -1}, "rescue_stuck_jobs_after"),
        ({"rescue_unknown_kinds": "drop"}, "retry, discard, ignore, not 'drop'"),
        ({"cancelled_job_retention_period": -2}, "cancelled"),
        ({"completed_job_retention_period": -2}, "completed"),
        ({"discarded_job_retention_period": -0.5}, "discarded"),
        ({"job_cleaner_timeout": 0}, "job_cleaner_timeout"),
        ({"refresh_attempts_after": -1}, "refresh_attempts_after must be more than 0"),
        ({"refresh_attempts_after": float("nan")}, "not nan"),
        ({"refresh_attempts_after": 1801}, "at most 1800 seconds, half of rescue_stuck_jobs_after"),
        (
            {"job_timeout": None, "rescue_stuck_jobs_after": 90, "refresh_attempts_after": 46},
            "at most 45 seconds",
        ),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], text: str) -> None:
    """By name. Checklist 153."""
    with pytest.raises(ConfigurationError, match=text):
        config(**options)


@pytest.mark.parametrize(
    ("options", "refresh_after"),
    [
        ({}, 600),
        ({"refresh_attempts_after": 1800}, 1800),
        ({"job_timeout": None, "rescue_stuck_jobs_after": 1800}, 600),
        ({"job_timeout": None, "rescue_stuck_jobs_after": 90}, 30),
        ({"job_timeout": 5400, "refresh_attempts_after": 4500}, 4500),
    ],
)
def test_attempts_are_refreshed_well_before_the_rescuers_horizon(
    options: dict[str, Any], refresh_after: float
) -> None:
    """Ten minutes, or a third of a short horizon, unless something else is asked for."""
    assert config(**options).refresh_attempts_after == refresh_after


def test_the_leaders_services_get_the_options() -> None:
    """Each where it belongs."""
    made = config(
        job_timeout=30,
        rescue_unknown_kinds="ignore",
        cancelled_job_retention_period=1,
        completed_job_retention_period=None,
        discarded_job_retention_period=-1,
        job_cleaner_timeout=5,
        reindexer_index_names=["river_job_kind"],
    ).maintenance()
    assert (made.rescue_after, made.job_timeout, made.rescue_unknown_kinds) == (3630, 30, UnknownKinds.IGNORE)
    assert (made.retention.cancelled, made.retention.completed, made.retention.discarded) == (1, None, -1)
    assert (made.cleaner_timeout, made.reindexer_index_names) == (5, ["river_job_kind"])
