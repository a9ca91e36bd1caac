"""`.delay()` inside the caller's transaction, and against a database that is not there."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
from django.db import transaction
from kombu.exceptions import EncodeError
from sqlalchemy.orm import Session, sessionmaker

import river_core
from river_compat.celery import Celery
from river_compat.celery.exceptions import OperationalError
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.sqlalchemy import watch
from river_core.job import JobState
from river_core.task_rows import get_row
from tests import django_settings
from tests.conformance.applications import engine
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import rows_of

TIMEOUT = 60


@contextmanager
def open_connection(url: str) -> Iterator[Any]:
    """A connection of the application's own to the same database, in a transaction."""
    if url.startswith("postgres"):
        with psycopg.connect(url) as connection:
            connection.execute("SELECT 1")
            yield connection
            connection.rollback()
        return
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute("BEGIN")
        yield connection
        connection.rollback()


@pytest.fixture(params=["join", "connection"])
def send(request: pytest.FixtureRequest, app: Celery) -> Any:
    """The two ways to name the connection."""
    task = app.task(lambda: None, name="work", shared=False)

    def with_join(connection: Any) -> Any:
        with river_core.join(connection):
            return app.send_task("work")

    def with_argument(connection: Any) -> Any:
        return task.apply_async(connection=connection)

    return with_join if request.param == "join" else with_argument


def test_a_rollback_takes_the_row_with_it(app: Celery, database_url: str, send: Any) -> None:
    """O44. Row 3.25. And waiting says so instead of hanging."""
    with open_connection(database_url) as connection:
        result = send(connection)
        assert rows_of(app, result.id) == []
        assert result.state == "PENDING"
        with pytest.raises(RuntimeError, match="not committed"):
            result.get(timeout=TIMEOUT)
        connection.rollback()
        assert rows_of(app, result.id) == []
        with pytest.raises(RuntimeError, match="rolled back"):
            result.get(timeout=TIMEOUT)


def test_a_closed_connection_has_rolled_back(app: Celery, database_url: str, send: Any) -> None:
    """Waiting says so."""
    with open_connection(database_url) as connection:
        result = send(connection)
    with pytest.raises(RuntimeError, match="rolled back"):
        result.get(timeout=TIMEOUT)


def test_a_commit_brings_the_row(app: Celery, database_url: str, send: Any, working: Working) -> None:
    """The same handle finds it."""
    with open_connection(database_url) as connection:
        result = send(connection)
        connection.commit()
    assert rows_of(app, result.id)[0].state is JobState.AVAILABLE
    with working():
        assert result.get(timeout=TIMEOUT) is None
    assert result.state == "SUCCESS"


@pytest.mark.postgres
def test_an_application_may_stay_outside(postgres_url: str, postgres_driver: PsycopgDriver) -> None:
    """O45. `river_enqueue_in = "own"`; on SQLite the open transaction would keep it waiting."""
    app = Celery("own", set_as_current=False, river_driver=postgres_driver, river_enqueue_in="own")
    with open_connection(postgres_url) as connection, river_core.join(connection):
        result = app.send_task("work")
        connection.rollback()
    assert len(rows_of(app, result.id)) == 1
    app.close()


@pytest.mark.postgres
def test_one_call_or_task_may_stay_outside(postgres_url: str, postgres_driver: PsycopgDriver) -> None:
    """O45. A mail that must go out although the request fails: said by the call, or once by the task."""
    app = Celery("mail", set_as_current=False, river_driver=postgres_driver)
    mail = app.task(lambda: None, name="mail", shared=False)
    always = app.task(lambda: None, name="always", shared=False, river_enqueue_in="own")
    with open_connection(postgres_url) as connection, river_core.join(connection):
        sent = [mail.apply_async(river_enqueue_in="own"), always.delay()]
        joined = [mail.delay(), always.apply_async(river_enqueue_in="ambient")]
        with pytest.raises(ValueError, match="'ambient', 'own' or 'after_commit'"):
            mail.apply_async(river_enqueue_in="outside")
        connection.rollback()
    assert [len(rows_of(app, result.id)) for result in sent] == [1, 1]
    assert [len(rows_of(app, result.id)) for result in joined] == [0, 0]
    app.close()


@pytest.fixture
def session(app: Celery, database_url: str) -> Iterator[Session]:
    """A watched session of the application's with a transaction open."""
    with engine(database_url) as bind:
        sessions = sessionmaker(bind)
        watch(sessions)
        with sessions() as opened:
            opened.connection()
            yield opened


def test_a_watched_session_decides(app: Celery, session: Session, working: Working) -> None:
    """O44. Without a block; waiting for a task that nobody can see yet says so."""
    result = app.send_task("work")
    with pytest.raises(RuntimeError, match="not committed"):
        result.get(timeout=TIMEOUT)
    session.rollback()
    with pytest.raises(RuntimeError, match="rolled back"):
        result.get(timeout=TIMEOUT)
    session.connection()
    app.task(lambda: "done", name="finish", shared=False)
    kept = app.send_task("finish")
    session.commit()
    with working():
        assert kept.get(timeout=TIMEOUT) == "done"
    assert rows_of(app, result.id) == []


def test_an_application_may_insert_after_the_commit(app: Celery, session: Session, working: Working) -> None:
    """`river_enqueue_in = "after_commit"`: the handle finds the row by the task's id."""
    app.conf.river_enqueue_in = "after_commit"
    app.task(lambda: "done", name="finish", shared=False)
    result = app.send_task("finish")
    with pytest.raises(RuntimeError, match="not committed"):
        result.get(timeout=TIMEOUT)
    assert rows_of(app, result.id) == []
    session.commit()
    with working():
        assert result.get(timeout=TIMEOUT) == "done"


def test_waiting_inside_an_atomic_block_says_so(app: Celery, database_url: str) -> None:
    """O44. The driver for an alias takes part in Django's transactions."""
    with django_settings.alias("default", database_url):
        from river_core.drivers.django import DjangoDriver  # needs the settings

        shop = Celery("shop", set_as_current=False, river_driver=DjangoDriver())
        with transaction.atomic():
            result = shop.send_task("work")
            with pytest.raises(RuntimeError, match="not committed"):
                result.get(timeout=TIMEOUT)
        assert rows_of(app, result.id)[0].state is JobState.AVAILABLE
        shop.close()


def test_a_dead_database_is_an_operational_error_within_seconds() -> None:
    """Of the class that applications catch for a dead broker."""
    app = Celery("dead", broker="postgresql://127.0.0.1:1/nothing", set_as_current=False)
    started = time.monotonic()
    with pytest.raises(OperationalError, match="not sent"):
        app.send_task("work")
    assert time.monotonic() - started < 30  # its own time is five seconds
    app.close()


def test_what_cannot_be_sent_leaves_no_row(app: Celery) -> None:
    """Wrong arguments, or values that cannot be serialized."""
    work = app.task(lambda x: x, name="work", shared=False)
    for call in (
        lambda: work.delay(),
        lambda: work.delay(object()),
        lambda: work.apply_async((1,), coutdown=5),
    ):
        with pytest.raises((TypeError, EncodeError)):
            call()
    sent = app.send_task("first")
    assert get_row(app.runtime.driver, rows_of(app, sent.id)[0].id - 1) is None
