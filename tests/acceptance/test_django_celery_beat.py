"""django-celery-beat as it is published: its scheduler runs here, several at once, and sees edits."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from river_compat.dev_database import Postgres
from tests.acceptance.commands import environment, query, run, wait_for
from tests.acceptance.django_project import on_postgres, on_sqlite
from tests.databases import session_database

PROJECT = """
import os

import river_compat

river_compat.install_as("celery")
os.environ["DJANGO_SETTINGS_MODULE"] = "conf"

from celery import Celery

app = Celery("proj")
app.config_from_object("django.conf:settings", namespace="CELERY")
"""
SETTINGS = """
SECRET_KEY = "x"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.contenttypes", "django_celery_beat"]
DATABASES = {{"default": {database!r}}}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
CELERY_BROKER_URL = {url!r}
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_BEAT_SCHEDULE = {{"from settings": {{"task": "proj.old", "schedule": 2.0}}}}
"""
MIGRATE = """
import proj, django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
"""
EDIT = """
import proj, django
django.setup()
from django_celery_beat.models import IntervalSchedule, PeriodicTask
every_second, _ = IntervalSchedule.objects.get_or_create(every=1, period="seconds")
PeriodicTask.objects.create(name="added", task="proj.new", interval=every_second)
old = PeriodicTask.objects.get(name="from settings")
old.enabled = False
old.save()
"""
NAMES = {
    True: "SELECT args->'task'->>'name' FROM river_job WHERE kind = 'python_task'",
    False: "SELECT json_extract(json(args), '$.task.name') FROM river_job WHERE kind = 'python_task'",
}


@dataclass(frozen=True)
class Project:
    """Its folder, and the URL of its database, which is the queue and has the schedule's tables."""

    folder: Path
    url: str

    def sent(self, name: str) -> int:
        """How often a task was sent."""
        return [row[0] for row in query(self.url, NAMES[self.url.startswith("postgres")])].count(name)


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """A project on Postgres and on SQLite."""
    if request.param == "sqlite":
        yield made(tmp_path, f"sqlite:///{tmp_path}/db.sqlite3", on_sqlite(tmp_path))
        return
    server: Postgres = request.getfixturevalue("postgres_server")
    with session_database(server.url) as database:
        yield made(tmp_path, database.url, on_postgres(database.url))


def made(folder: Path, url: str, database: dict[str, Any]) -> Project:
    """Write the project and make its tables."""
    (folder / "proj.py").write_text(PROJECT)
    (folder / "conf.py").write_text(SETTINGS.format(database=database, url=url))
    python(folder, MIGRATE)
    assert run("-A", "proj", "migrate", "up", cwd=folder).code == 0
    return Project(folder, url)


def python(folder: Path, text: str) -> None:
    """Run Python in the project."""
    subprocess.run([sys.executable, "-c", text], cwd=folder, env=environment(), check=True, timeout=180)


@contextmanager
def beat(folder: Path, name: str) -> Iterator[None]:
    """Run a beat for the block."""
    command = [sys.executable, "-m", "river_compat", "-A", "proj", "beat", "-l", "INFO"]
    with (
        (folder / name).open("ab") as output,
        subprocess.Popen(command, cwd=folder, env=environment(), stdout=output, stderr=output) as process,
    ):
        try:
            yield
        finally:
            process.terminate()


def test_its_scheduler_works_unchanged_also_twice(project: Project) -> None:
    """Row 14.8."""
    with ExitStack() as stack:
        began = time.monotonic()
        for name in ("one.log", "two.log"):
            stack.enter_context(beat(project.folder, name))
        wait_for(lambda: project.sent("proj.old") >= 3, "ticks of the settings' entry")
        assert project.sent("proj.old") <= (time.monotonic() - began) / 2 + 1
        edited = time.monotonic()
        python(project.folder, EDIT)
        wait_for(lambda: project.sent("proj.new") >= 3, "ticks of the entry that was added")
        assert project.sent("proj.new") <= time.monotonic() - edited + 1
        wait_for(lambda: old_has_stopped(project), "the end of the entry that was disabled")


def old_has_stopped(project: Project) -> bool:
    """Whether the entry at two seconds sends nothing while that at one second sends five times.

    One of its tasks may be on its way; a beat looks for edits at its next turn.
    """
    old, new = project.sent("proj.old"), project.sent("proj.new")
    wait_for(lambda: project.sent("proj.new") >= new + 5, "more of the entry that was added")
    return project.sent("proj.old") <= old + 1


def test_without_the_alias_the_beat_says_what_to_do(project: Project) -> None:
    """The package's own base class is not ours."""
    text = (project.folder / "proj.py").read_text()
    (project.folder / "proj.py").write_text(
        text.replace('river_compat.install_as("celery")', "").replace(
            "from celery", "from river_compat.celery"
        )
    )
    ran = run("-A", "proj", "beat", cwd=project.folder)
    assert (ran.code, "install_as" in ran.stderr) == (2, True), ran.stderr
