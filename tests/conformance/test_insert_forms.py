"""Arguments of a job may be given in several forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError, ValidationError
from river_core.insert import InsertManyParams, InsertOpts
from river_core.task import Registry


@dataclass
class Mail:
    """A dataclass with options of its own."""

    kind: ClassVar[str] = "mail"
    to: int
    copies: tuple[int, ...] = ()

    @staticmethod
    def insert_opts() -> InsertOpts:
        """Mails have a queue."""
        return InsertOpts(queue="mails")


class Letter(BaseModel):
    """A model of pydantic."""

    kind: ClassVar[str] = "mail"
    to: int


class Own:
    """An object that writes itself."""

    kind = "mail"

    def to_json(self) -> str:
        """Return JSON."""
        return '{"to": 7}'


@pytest.mark.parametrize(
    ("args", "stored", "queue"),
    [
        (Mail(7, (1, 2)), {"to": 7, "copies": [1, 2]}, "mails"),
        (Letter(to=7), {"to": 7}, "default"),
        ({"kind": "mail", "to": 7}, {"to": 7}, "default"),
        (Own(), {"to": 7}, "default"),
    ],
    ids=["dataclass", "pydantic", "dict", "own"],
)
def test_forms_of_arguments(driver: Driver, args: Any, stored: dict[str, Any], queue: str) -> None:
    """One by one and in a batch."""
    client = Client(driver)
    rows = [client.insert(args).job, client.insert_many([InsertManyParams(args)])[0].job]
    assert [(job.kind, job.args, job.queue) for job in rows] == [("mail", stored, queue)] * 2


@pytest.mark.parametrize(
    "args",
    [None, 5, {"to": 7}, {"kind": 5}, object(), Mail],
    ids=["none", "int", "no kind", "kind", "object", "class"],
)
def test_other_forms_are_refused(driver: Driver, args: Any) -> None:
    """By name, with the ways that there are; nothing is written."""
    client = Client(driver)
    for call in (client.insert, lambda given: client.insert_many([InsertManyParams(given)])):
        with pytest.raises(ValidationError, match="kind"):
            call(args)
    assert client.job_list().jobs == []


def test_functions_that_would_run_nothing_are_refused() -> None:
    """A `yield` makes calling a function do nothing."""

    def generator(job: object) -> Any:
        yield

    async def awaited(job: object) -> Any:
        yield

    for function in (generator, awaited, "text"):
        with pytest.raises(ConfigurationError, match=r"yield|callable"):
            Registry().add("mail", function)  # type: ignore[arg-type]
