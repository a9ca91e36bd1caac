"""Options that Go accepts and refuses, and the defaults that it fills in, against ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from river_core.client import Client
from river_core.db.statement import Dialect, Sql
from river_core.drivers.sqlite import SqliteDriver
from river_core.errors import ConfigurationError, ValidationError
from river_core.unique import DEFAULT_STATES, STATE_BITS
from river_core.worker.config import WorkerConfig
from river_core.worker.maintenance.reindexer import DEFAULT_INDEXES, TIMEOUT_SECONDS
from river_core.worker.producer import QueueConfig
from tests.vectors import load

RECORDED = load("insert_validation.json")
DEFAULTS = RECORDED["client_config_defaults"]
KEYS = load("unique_keys.json")
DRIVER = SqliteDriver("never opened")


def config(**options: Any) -> Callable[[], object]:
    """A worker's configuration with one queue, unless another one is given."""
    return lambda: WorkerConfig(**{"queues": {"default": 1}, **options})


def queue(**options: Any) -> Callable[[], object]:
    """The same with options of the queue."""
    return config(queues={"default": QueueConfig(1, **options)}) if options else config()


MAKERS: dict[str, Callable[[], object]] = {
    "empty config": lambda: Client(DRIVER),
    "queues with an empty worker bundle": config(),
    **{f"max workers {number}": (lambda n=number: QueueConfig(n)) for number in (-1, 0, 1, 10_000, 10_001)},
    **{f'queue name "{name}"': config(queues={name: 1}) for name in ("", "Upper", "a b", "*", "a" * 65)},
    "queue fetch cooldown negative": lambda: queue(fetch_cooldown=-1)(),
    "queue poll interval below cooldown": lambda: queue(fetch_cooldown=0.2, fetch_poll_interval=0.1)(),
    "fetch cooldown 1ms": config(fetch_cooldown=0.001),
    "fetch cooldown 999us": config(fetch_cooldown=0.000999),
    "fetch poll interval 1ms (cooldown default)": config(fetch_poll_interval=0.001),
    "fetch poll interval 1ms, cooldown 1ms": config(fetch_poll_interval=0.001, fetch_cooldown=0.001),
    "fetch poll interval 999us, cooldown 1ms": config(fetch_poll_interval=0.000999, fetch_cooldown=0.001),
    "id of 100 characters": config(id="a" * 100),
    "id of 101 characters": config(id="a" * 101),
    "job timeout -1ns (none)": config(job_timeout=-1),
    "job timeout -2ns": config(job_timeout=-2),
    "max attempts -1": lambda: Client(DRIVER, max_attempts=-1),
    "retention -1ns (keep)": config(completed_job_retention_period=-1),
    "completed retention -2ns": config(completed_job_retention_period=-2),
    "rescue after below job timeout": config(job_timeout=60, rescue_stuck_jobs_after=30),
    "job timeout 2h, rescue after unset": config(job_timeout=7200),
    "schema of 46 characters": lambda: Sql(Dialect.POSTGRES, "s" * 46),
    "schema of 47 characters": lambda: Sql(Dialect.POSTGRES, "s" * 47),
    "schema with a dash": lambda: Sql(Dialect.POSTGRES, "a-b"),
    "schema starting with a digit": lambda: Sql(Dialect.POSTGRES, "1a"),
    "reindexer timeout -2ns": config(reindexer_timeout=-2),
}
ELSEWHERE = {"queues without workers", "workers without queues"}
"""Tasks are an argument of a worker, and a client that works none has no configuration of queues."""


@pytest.mark.parametrize(
    "case",
    [case for case in RECORDED["client_config"] if case["name"] not in ELSEWHERE],
    ids=lambda c: c["name"][:40],
)
def test_options_are_accepted_and_refused_as_in_go(case: dict[str, Any]) -> None:
    """Each refusal is a typed error when the object is made."""
    make = MAKERS[case["name"]]
    if case["accepted"]:
        assert make() is not None
    else:
        with pytest.raises((ConfigurationError, ValidationError)):
            make()


def test_defaults_are_those_of_go() -> None:
    """In seconds."""
    ours = WorkerConfig(queues={"default": 1})
    names = {
        "cancelled_job_retention_seconds": ours.cancelled_job_retention_period,
        "completed_job_retention_seconds": ours.completed_job_retention_period,
        "discarded_job_retention_seconds": ours.discarded_job_retention_period,
        "fetch_cooldown_seconds": ours.fetch_cooldown,
        "fetch_poll_interval_seconds": ours.fetch_poll_interval,
        "job_stuck_threshold_seconds": ours.job_stuck_threshold,
        "job_timeout_seconds": ours.job_timeout,
        "reindexer_timeout_seconds": TIMEOUT_SECONDS,
        "rescue_after_seconds_with_job_timeout_2h": rescue_after(7200),
        "rescue_after_seconds_with_job_timeout_5m": rescue_after(300),
        "rescue_stuck_jobs_after_seconds": ours.rescue_stuck_jobs_after,
        "soft_stop_timeout_seconds": ours.soft_stop_timeout or 0,
    }
    assert names == {name: DEFAULTS[name] for name in names}


def rescue_after(job_timeout: float) -> float:
    """The default for jobs of this time-out."""
    return WorkerConfig(queues={"default": 1}, job_timeout=job_timeout).rescue_stuck_jobs_after


def test_the_indexes_to_rebuild_are_those_of_go() -> None:
    """On Postgres; by name."""
    assert sorted(DEFAULT_INDEXES) == DEFAULTS["reindexer_index_names"]


def test_bits_and_default_states_of_unique_jobs_are_gos() -> None:
    """Checklist 41. One bit a state."""
    assert {state.value: bit for state, bit in STATE_BITS.items()} == {
        entry["state"]: entry["byte"] for entry in KEYS["state_bits"]
    }
    assert sorted(state.value for state in DEFAULT_STATES) == KEYS["default_states"]


@pytest.mark.parametrize("parity", ["", "rust"])
def test_an_unknown_parity_is_refused(parity: str) -> None:
    """By a client and by a worker."""
    with pytest.raises(ConfigurationError, match="parity"):
        Client(DRIVER, parity=parity)
    with pytest.raises(ConfigurationError, match="parity"):
        WorkerConfig(queues={"default": 1}, parity=parity)
