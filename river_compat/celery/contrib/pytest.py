"""Celery's fixtures for pytest, under their names (`celery.contrib.pytest`).

Load them with `pytest_plugins = ("river_compat.celery.contrib.pytest",)`. Where `celery_config` names no
database, the one of the `river_` fixtures is used: the Postgres that `--river-database-url` names, or else a
temporary SQLite file for each application.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.contrib.testing.worker import TestWorkController

NO_WORKER = os.environ.get("NO_WORKER")
DATABASE_SETTINGS = frozenset(
    {"broker_url", "river_database_url", "river_driver", "river_using", "BROKER_URL"}
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "celery(**overrides): settings of celery_app for one test")


@contextmanager
def _application(
    request: pytest.FixtureRequest,
    database: str,
    config: Mapping[str, Any],
    parameters: Mapping[str, Any],
    enable_logging: bool,
    use_trap: bool,
) -> Iterator[Celery]:
    """Make an application with a marker's settings over `config`, on the database of a fixture if need be."""
    from river_compat.celery.contrib.testing.app import TestApp, setup_default_app
    from river_compat.pytest_plugin import postgres_url

    mark = request.node.get_closest_marker("celery")
    settings = {**config, **(mark.kwargs if mark is not None else {})}
    is_named = DATABASE_SETTINGS & {*settings, *parameters} or parameters.get("broker")
    if not is_named and postgres_url(request.config):
        settings["broker_url"] = request.getfixturevalue(database)
    app = TestApp(config=settings, enable_logging=enable_logging, set_as_current=False, **parameters)
    with setup_default_app(app, use_trap=use_trap):
        yield app


@contextmanager
def _worker(
    app: Celery, includes: Sequence[str], pool: str, parameters: Mapping[str, Any]
) -> Iterator[TestWorkController | None]:
    """Import the modules and run a worker; none where the variable NO_WORKER is set."""
    import importlib

    from river_compat.celery.contrib.testing.worker import start_worker

    if NO_WORKER:
        yield None
        return
    for module in includes:
        importlib.import_module(module)
    with start_worker(app, pool=pool, **parameters) as worker:
        yield worker


@pytest.fixture(scope="session")
def celery_config() -> Mapping[str, Any]:
    """The settings of the test applications: none. Override it."""
    return {}


@pytest.fixture(scope="session")
def celery_parameters() -> Mapping[str, Any]:
    """Arguments for the constructor of the test applications: none. Override it."""
    return {}


@pytest.fixture(scope="session")
def celery_enable_logging() -> bool:
    """Whether the workers set up logging: no. Override it."""
    return False


@pytest.fixture(scope="session")
def celery_includes() -> Sequence[str]:
    """Modules to import before a worker starts: none. Override it."""
    return ()


@pytest.fixture(scope="session")
def celery_worker_pool() -> str:
    """The pool of the workers: `solo`. Override it."""
    return "solo"


@pytest.fixture(scope="session")
def celery_worker_parameters() -> Mapping[str, Any]:
    """Options of the workers: none. Override it."""
    return {}


@pytest.fixture(scope="session")
def celery_class_tasks() -> Sequence[Any]:
    """Class-based tasks to register with the session's application: none. Override it."""
    return ()


@pytest.fixture(scope="session")
def use_celery_app_trap() -> bool:
    """Whether the use of a current application that nobody set raises: no. Override it."""
    return False


@pytest.fixture(scope="session")
def celery_session_app(
    request: pytest.FixtureRequest,
    celery_config: Mapping[str, Any],
    celery_parameters: Mapping[str, Any],
    celery_enable_logging: bool,
    use_celery_app_trap: bool,
) -> Iterator[Celery]:
    """An application for the whole session; the current and default one, unless the trap is set."""
    with _application(
        request,
        "_river_schema_url",
        celery_config,
        celery_parameters,
        celery_enable_logging,
        use_celery_app_trap,
    ) as app:
        if not use_celery_app_trap:
            app.set_default()
            app.set_current()
        yield app


@pytest.fixture
def celery_app(
    request: pytest.FixtureRequest,
    celery_config: Mapping[str, Any],
    celery_parameters: Mapping[str, Any],
    celery_enable_logging: bool,
    use_celery_app_trap: bool,
) -> Iterator[Celery]:
    """An application for one test."""
    with _application(
        request,
        "river_database_url",
        celery_config,
        celery_parameters,
        celery_enable_logging,
        use_celery_app_trap,
    ) as app:
        yield app


@pytest.fixture(scope="session")
def celery_session_worker(
    celery_session_app: Celery,
    celery_includes: Sequence[str],
    celery_class_tasks: Sequence[Any],
    celery_worker_pool: str,
    celery_worker_parameters: Mapping[str, Any],
) -> Iterator[TestWorkController | None]:
    """A worker of `celery_session_app` for the whole session."""
    for task in celery_class_tasks:
        celery_session_app.register_task(task)
    with _worker(celery_session_app, celery_includes, celery_worker_pool, celery_worker_parameters) as worker:
        yield worker


@pytest.fixture
def celery_worker(
    celery_app: Celery,
    celery_includes: Sequence[str],
    celery_worker_pool: str,
    celery_worker_parameters: Mapping[str, Any],
) -> Iterator[TestWorkController | None]:
    """A worker of `celery_app` for one test, in a thread."""
    with _worker(celery_app, celery_includes, celery_worker_pool, celery_worker_parameters) as worker:
        yield worker


@pytest.fixture
def depends_on_current_app(celery_app: Celery) -> None:
    """Make `celery_app` the current application."""
    celery_app.set_current()
