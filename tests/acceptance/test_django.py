"""A Django project with only its imports changed: settings, tables, transactions, workers, tests."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from river_compat.dev_database import Postgres
from tests.acceptance import django_project
from tests.acceptance.commands import wait_for
from tests.acceptance.django_project import Project
from tests.databases import session_database

STATES = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT state FROM river_job ORDER BY id")
    print([row[0] for row in cursor.fetchall()])
"""


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """The project with its tables, River's among them."""
    if request.param == "sqlite":
        made = django_project.make(tmp_path, django_project.on_sqlite(tmp_path))
        assert made.manage("migrate", "-v", "0").code == 0
        yield made
        return
    server: Postgres = request.getfixturevalue("postgres_server")
    with session_database(server.url) as database:
        made = django_project.make(tmp_path, django_project.on_postgres(database.url))
        migrated = made.manage("migrate", "-v", "0")
        assert migrated.code == 0, migrated.stderr
        yield made


def test_migrations_of_django_are_rivers_own(project: Project) -> None:
    """River's command finds every version; the way back drops the tables, and forth again."""
    listed = project.manage("river", "migrate", "validate")
    assert listed.code == 0, listed.stderr
    for target, answer in (("zero", "False"), (None, "True")):
        moved = project.manage("migrate", "river", *([target] if target else []), "-v", "0")
        assert moved.code == 0, moved.stderr
        exists = project.script(
            "from django.db import connection\nprint('river_job' in connection.introspection.table_names())"
        )
        assert exists.strip() == answer


def test_migrations_accept_what_rivers_command_did(project: Project) -> None:
    """A database that `river-compat migrate` brought there is only recorded in Django's table."""
    script = "from river_core import Migrator\nfrom river_core.drivers.django import DjangoDriver\n"
    project.manage("migrate", "river", "zero", "-v", "0")
    project.script(f"{script}Migrator(DjangoDriver()).migrate_up()")
    moved = project.manage("migrate", "-v", "0")
    assert moved.code == 0, moved.stderr
    assert project.manage("makemigrations", "--check").code == 0


def test_settings_of_the_namespace_are_seen(project: Project) -> None:
    """Row 18.4. Queue by its CELERY_ name, zone by Django's TIME_ZONE, tasks by installed apps, database."""
    text = """
import json
from site_ import app
app.import_default_modules()
task = app.tasks["shop.tasks.pay"]
print(json.dumps([app.conf.task_default_queue, str(app.timezone), type(app.runtime.driver).__name__,
                  hasattr(task, "delay_on_commit")]))
"""
    assert json.loads(project.script(text)) == ["shop", "Europe/Berlin", "DjangoDriver", True]


def test_the_checks_bring_the_tasks_of_views_and_stop_nobody(tmp_path: Path) -> None:
    """Others ask the loader too, as django-celery-beat does; an error is logged, as with Celery."""
    (tmp_path / "site_").mkdir()
    (tmp_path / "site_/urls.py").write_text("from site_ import views\nurlpatterns = []\n")
    (tmp_path / "site_/views.py").write_text(
        "from river_compat.celery import shared_task\n@shared_task\ndef of_a_view():\n    pass\n"
    )
    database = django_project.on_sqlite(tmp_path)
    made = django_project.make(tmp_path, database, more='ROOT_URLCONF = "site_.urls"')
    text = """
from django.core import checks
@checks.register
def refuse(app_configs, **kwargs):
    return [checks.Error("it is all wrong", id="shop.E001")]
from site_ import app
app.loader.import_default_modules()
print("site_.views.of_a_view" in app.tasks)
"""
    done = made.python("-c", f"import django\ndjango.setup()\n{text}")
    assert (done.code, done.stdout) == (0, "True\n"), done.stderr
    assert "it is all wrong" in done.stderr


def test_a_call_belongs_to_the_transaction(project: Project) -> None:
    """Rows 18.2, 18.3. Rows of a savepoint and a block that roll back vanish; ids are known before."""
    text = f"""
from django.db import transaction
from shop.tasks import pay
ids = []
with transaction.atomic():
    ids.append(pay.delay_on_commit(1).id)
    try:
        with transaction.atomic():
            pay.delay(2)
            raise ValueError
    except ValueError:
        pass
try:
    with transaction.atomic():
        ids.append(pay.apply_async_on_commit((3,), countdown=5).id)
        raise ValueError
except ValueError:
    pass
from site_ import app
print([app.AsyncResult(each).state if len(each) == 36 else "no id" for each in ids])
{STATES}
"""
    assert project.script(text).splitlines() == ["['PENDING', 'PENDING']", "['available']"]


def test_a_test_case_drains_what_it_sent(project: Project) -> None:
    """Rows 16.8, 18.7. A task and its retry in an hour run inside the TestCase, and leave nothing."""
    (project.folder / "shop/tests.py").write_text("""
from datetime import UTC, datetime

from django.test import TestCase
from river_compat.celery.contrib.testing.drain import drain
from river_core.testing import StubClock
from shop.models import Order
from shop.tasks import pay, pay_later
from site_ import app


class Paying(TestCase):
    def test_pays(self):
        order = Order.objects.create()
        pay.delay(order.pk)
        assert [each.outcome for each in drain(app)] == ["completed"]
        order.refresh_from_db()
        assert order.paid

    def test_pays_later(self):
        order = Order.objects.create()
        pay_later.delay(order.pk)
        clock = StubClock(datetime.now(UTC))
        clock.advance(1)
        drain(app, clock=clock)
        order.refresh_from_db()
        assert not order.paid
        clock.advance(3700)
        [last] = drain(app, clock=clock)
        assert last.job.metadata["output"] == 1
        order.refresh_from_db()
        assert order.paid
""")
    done = project.manage("test", "--noinput")
    assert done.code == 0, done.stderr
    assert "Ran 2 tests" in done.stderr
    assert project.script(STATES).strip() == "[]"


def test_a_worker_of_manage_py_runs_the_tasks(project: Project) -> None:
    """`manage.py river worker` finds the application and imports the tasks of the installed apps."""
    text = """
from shop.models import Order
from shop.tasks import pay
print(pay.delay(Order.objects.create().pk).id)
"""
    task_id = project.script(text).strip()
    command = [sys.executable, "-m", "django", "river", "worker", "-P", "threads", "-c", "2"]
    worker = subprocess.Popen(command, cwd=project.folder, env=project.env)
    try:
        asked = f"from site_ import app\nprint(app.AsyncResult({task_id!r}).state)"
        wait_for(lambda: project.script(asked).strip() == "SUCCESS", "the task's end")
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0
    assert project.script("from shop.models import Order\nprint(Order.objects.get().paid)").strip() == "True"


@pytest.mark.postgres
@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_connection_that_is_cut_costs_no_task(tmp_path: Path, postgres_server: Postgres, pool: str) -> None:
    """O18. Row 18.1. All of Django's sessions are ended between two batches; each task of both succeeds.

    No more sessions than slots are there at any time, though they are kept for ten minutes.
    """
    with session_database(postgres_server.url) as database:
        project = django_project.make(tmp_path, django_project.on_postgres(database.url))
        assert project.manage("migrate", "-v", "0").code == 0
        command = [sys.executable, "-m", "django", "river", "worker", "-P", pool, "-c", "4"]
        worker = subprocess.Popen(command, cwd=tmp_path, env=project.env)
        try:
            before = _batch(project)
            with closing(psycopg.connect(database.url, autocommit=True)) as admin:
                ended = [
                    admin.execute("SELECT pg_terminate_backend(%s)", (pid,)).fetchone() for pid in before
                ]
            after = _batch(project)
        finally:
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(60) == 0
    assert 1 <= len(before) <= 4
    assert len(ended) == len(before)
    assert 1 <= len(after) <= 4
    assert before.isdisjoint(after)


OPENED = """
import os

from river_compat.celery import shared_task
from django.db import connection
from site_ import app

with connection.cursor() as cursor:
    cursor.execute("SELECT pg_backend_pid()")
    EARLY = [cursor.fetchone()[0]]
app.runtime.client.job_list()


@shared_task
def sessions():
    from river_core.db.statement import Statement

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        mine = cursor.fetchone()[0]
    with app.runtime.driver.connect() as ours:
        [[other]] = ours.fetch(Statement("pid", "SELECT pg_backend_pid()", {}))
    return [os.getpid(), mine, other, EARLY[0]]
"""


@pytest.mark.postgres
def test_no_session_is_shared_by_processes(tmp_path: Path, postgres_server: Postgres) -> None:
    """O17. Row 18.1. Django and our client are asked at import; then 400 tasks in four forked processes.

    None fails, and what was opened before the fork is used by no child, nor is a session of one by another.
    """
    with session_database(postgres_server.url) as database:
        project = django_project.make(tmp_path, django_project.on_postgres(database.url))
        assert project.manage("migrate", "-v", "0").code == 0
        (tmp_path / "shop/tasks.py").write_text(OPENED)
        command = [sys.executable, "-m", "django", "river", "worker", "-P", "prefork", "-c", "4"]
        worker = subprocess.Popen(command, cwd=tmp_path, env=project.env)
        text = """
import json
from shop.tasks import sessions
sent = [sessions.delay() for _ in range(400)]
print(json.dumps([each.get(timeout=60) for each in sent]))
"""
        try:
            told = json.loads(project.script(text))
        finally:
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(30) == 0
    assert len({process for process, *_ in told}) == 4
    early = {opened for *_, opened in told}
    users: dict[int, set[int]] = {}
    for process, *sessions, _ in told:
        for session in sessions:
            users.setdefault(session, set()).add(process)
    assert all(len(processes) == 1 for processes in users.values())
    assert early.isdisjoint(users)
    assert len({mine for _, mine, *_ in told}) == 4


def _batch(project: Project) -> set[int]:
    """Run a batch of tasks and return the sessions of Django that they had."""
    text = """
from shop.tasks import backend_pid
sent = [backend_pid.delay() for _ in range(100)]
print({each.get(timeout=60) for each in sent})
"""
    found: set[int] = set(json.loads(project.script(text).replace("{", "[").replace("}", "]")))
    return found
