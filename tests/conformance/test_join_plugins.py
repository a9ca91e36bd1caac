"""Plugins around inserts that run in a transaction of another library, or wait for its commit."""

from __future__ import annotations

from typing import Any

import pytest

from river_core import Client, EncodedArgs, InsertParams, InsertResult, Plugin, UniqueOpts, join
from river_core.drivers.base import Driver
from river_core.plugins import InsertOperation
from tests.conformance.applications import every_library, session
from tests.conformance.raw_connections import count_jobs

ARGS = EncodedArgs("some_kind", "{}")


class Following(Plugin):
    """Inserts a job of its own for each, and notes how many were written at once."""

    def __init__(self, driver: Driver) -> None:
        self.client = Client(driver)
        self.written: list[int] = []

    def insert_many(self, params: list[InsertParams], operation: InsertOperation) -> list[InsertResult]:
        results = operation(params)
        self.written.append(len(results))
        return results

    def insert_begin(self, params: InsertParams) -> None:
        self.client.insert(EncodedArgs("follow_up", "{}"))


@every_library
@pytest.mark.parametrize("commits", [True, False], ids=["commit", "rollback"])
def test_hooks_insert_in_the_joined_transaction(driver: Driver, application: Any, commits: bool) -> None:
    """Their rows share the fate of the application's."""
    plugin = Following(driver)
    client = Client(driver, plugins=(plugin,))
    with join(application):
        client.insert(ARGS)
        client.insert(ARGS, unique_opts=UniqueOpts(by_args=True))
    assert count_jobs(driver) == 0
    assert plugin.written == [1, 1]
    if commits:
        application.commit()
    else:
        application.rollback()
    assert count_jobs(driver) == (4 if commits else 0)


def test_hooks_of_an_insert_after_the_commit(driver: Driver, database_url: str) -> None:
    """They run when the row is written, not before, and in its transaction."""
    plugin = Following(driver)
    client = Client(driver, plugins=(plugin,))
    with session(database_url) as application, join(application):
        application.begin()
        client.insert(ARGS, enqueue="after_commit")
        assert plugin.written == []
        application.rollback()
        assert plugin.written == []
        application.begin()
        client.insert(ARGS, enqueue="after_commit")
        application.commit()
        assert plugin.written == [1]
    assert count_jobs(driver) == 2
