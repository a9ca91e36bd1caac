"""Fixtures of the conformance tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from river_compat.dev_database import Postgres
from river_core.drivers.base import Driver
from tests.conformance.applications import OPENERS
from tests.conformance.awaited import awaited_names
from tests.databases import session_database


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker that is read here."""
    config.addinivalue_line("markers", "blocking_only: of `Client`, not of `AsyncClient`")


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


@pytest.fixture(params=["blocking", "awaited"])
def either_client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a module's `Client` be itself, and then `AsyncClient` with its face."""
    if request.param == "blocking":
        yield
        return
    if request.node.get_closest_marker("blocking_only"):
        pytest.skip("of the blocking client alone")
    with awaited_names(request.module, _url_of(request), monkeypatch):
        yield


def _url_of(request: pytest.FixtureRequest) -> str:
    if "postgres_url" in request.fixturenames:
        return str(request.getfixturevalue("postgres_url"))
    if "database_url" in request.fixturenames:
        return str(request.getfixturevalue("database_url"))
    return f"sqlite:///{request.getfixturevalue('sqlite_path')}"
