"""Fixtures of the conformance tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from river_compat.dev_database import Postgres
from river_core.drivers.base import Driver
from tests.conformance.applications import OPENERS
from tests.databases import session_database


@pytest.fixture
def application(driver: Driver, database_url: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A connection of the application to River's database, with its library's defaults.

    Marks of `tests.conformance.applications` say for which libraries.
    """
    with OPENERS[request.param](database_url) as connection:
        yield connection


@pytest.fixture(scope="module")
def second_postgres(postgres_server: Postgres) -> Iterator[str]:
    """URL of a database on Postgres that is not River's."""
    with session_database(postgres_server.url) as database:
        yield database.url
