"""What River for Go accepts, refuses and stores, as recorded from it, against our client.

Where our client is stricter on purpose, the test says so; the recorded rows stand otherwise.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError, UnknownJobKindError, ValidationError
from river_core.insert import EncodedArgs, InsertManyParams, InsertOpts
from river_core.job import JobRow
from river_core.task import Registry
from tests.vectors import load

VECTORS = load("insert_validation.json")["vectors"]
GROUPS = ("queue", "priority", "max_attempts", "tags", "scheduled_at", "pending", "defaults")
STRICTER = {
    "max_attempts 32768": "cut to 32767 by Go; an error here",
    "max_attempts 100000": "cut to 32767 by Go; an error here",
}
MAX_ROUNDING = timedelta(seconds=1)


def of_group(*groups: str) -> list[Any]:
    """Return the vectors of these groups as parameters named after them."""
    return [
        pytest.param(
            vector, id=f"{vector['group']}: {vector['name']}"[:60].encode("ascii", "replace").decode()
        )
        for vector in VECTORS
        if vector["group"] in groups
    ]


def options(given: dict[str, Any]) -> InsertOpts:
    """Return a vector's input as options."""
    fields = {name: value for name, value in given.items() if name in InsertOpts.__dataclass_fields__}
    if "scheduled_at" in fields:
        fields["scheduled_at"] = datetime.fromisoformat(fields["scheduled_at"])
    if "scheduled_at_minus_now_seconds" in given:
        delay = timedelta(seconds=given["scheduled_at_minus_now_seconds"])
        fields["scheduled_at"] = datetime.now(UTC) + delay
    return InsertOpts(**fields)


def assert_as_recorded(job: JobRow, vector: dict[str, Any]) -> None:
    """Compare a stored job with the recorded row."""
    row = vector["row"]
    assert {
        "args": job.args,
        "attempt": job.attempt,
        "attempted_by": job.attempted_by or None,
        "errors": job.errors or None,
        "finalized_at": job.finalized_at,
        "kind": job.kind,
        "max_attempts": job.max_attempts,
        "metadata": job.metadata,
        "priority": job.priority,
        "queue": job.queue,
        "state": job.state,
        "tags": job.tags,
        "unique_key": job.unique_key,
        "unique_states": job.unique_states,
    } == {**row, "args": json.loads(row["args"])}
    assert job.created_at == job.scheduled_at or not vector["scheduled_at_equals_created_at"]
    delay = timedelta(seconds=vector["scheduled_at_minus_insert_seconds"])
    assert abs(job.scheduled_at - job.created_at - delay) <= MAX_ROUNDING


@pytest.mark.parametrize("vector", of_group(*GROUPS))
def test_options_are_accepted_and_stored_as_recorded(driver: Driver, vector: dict[str, Any]) -> None:
    """Checklist 20, 21. One option at a time, both ways."""
    client = Client(driver)
    args = EncodedArgs("k_test", "{}")
    if vector["accepted"] and vector["name"] not in STRICTER:
        assert_as_recorded(client.insert(args, options(vector["input"])).job, vector)
    else:
        with pytest.raises(ValidationError):
            client.insert(args, options(vector["input"]))


@pytest.mark.parametrize("vector", of_group("kind, insert-only client"))
def test_kinds_of_an_insert_only_client(driver: Driver, vector: dict[str, Any]) -> None:
    """Only the column's length limits them."""
    args = EncodedArgs(vector["input"]["kind"], "{}")
    if vector["accepted"]:
        assert Client(driver).insert(args).job.kind == args.kind
    else:
        with pytest.raises(ValidationError):
            Client(driver).insert(args)


@pytest.mark.parametrize("vector", of_group("kind, registered worker (NewClient)"))
def test_kinds_of_registered_tasks(vector: dict[str, Any]) -> None:
    """They have a form, checked when the registry is built."""
    kind = vector["input"]["kind"]
    if vector["accepted"]:
        assert Registry().add(kind, lambda job: None).get(kind) is not None
    else:
        with pytest.raises(ConfigurationError):
            Registry().add(kind, lambda job: None)


@pytest.mark.parametrize("vector", of_group("kind, client with workers"))
def test_kinds_of_a_client_with_workers(driver: Driver, vector: dict[str, Any]) -> None:
    """Checklist 28. An unregistered kind is refused unless the check is off."""
    given = vector["input"]
    registry = Registry()
    for kind in given["registered"]:
        registry.add(kind, lambda job: None)
    client = Client(
        driver, registry=registry, skip_unknown_job_check=given.get("skip_unknown_job_check", False)
    )
    args = EncodedArgs(given["kind"], "{}")
    if vector["accepted"]:
        assert client.insert(args).job.kind == args.kind
    else:
        with pytest.raises(UnknownJobKindError):
            client.insert(args)


JSON_ARGS = [item for item in of_group("args") if not item.values[0]["input"]["args"].startswith("struct")]
"""All but two inputs that exist in Go only, structures with a float that JSON lacks."""


@pytest.mark.parametrize("vector", JSON_ARGS)
def test_arguments_are_accepted_and_stored_as_recorded(driver: Driver, vector: dict[str, Any]) -> None:
    """Stricter here: what is no object is refused, as every reader expects one."""
    text = vector["input"]["args"]
    client = Client(driver)
    if vector["accepted"] and text.startswith("{"):
        assert exact(client.insert(EncodedArgs("k_test", text)).job.encoded_args) == exact(text)
    else:
        with pytest.raises(ValidationError):
            client.insert(EncodedArgs("k_test", text))


def exact(text: str) -> Any:
    """Return JSON with every digit of its numbers."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def test_a_batch_with_one_bad_job_writes_none(driver: Driver) -> None:
    """Checklist 26. The recorded batches: empty, one bad queue, two good ones."""
    client = Client(driver)
    good = InsertManyParams(EncodedArgs("k_test", "{}"))
    bad = InsertManyParams(EncodedArgs("k_test", "{}"), InsertOpts(queue="BAD"))
    with pytest.raises(ValidationError, match="no jobs to insert"):
        client.insert_many([])
    with pytest.raises(ValidationError, match="BAD"):
        client.insert_many([good, bad])
    assert [result.job.id for result in client.insert_many([good, good])] == [1, 2]
