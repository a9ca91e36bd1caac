"""django-celery-beat as it is published: its scheduler runs here, several at once, and sees edits."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.acceptance.commands import environment, query, run, wait_for

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
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": {file!r}}}}}
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
NAMES = "SELECT json_extract(json(args), '$.task.name') FROM river_job WHERE kind = 'python_task' ORDER BY id"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose schedule is in tables of the very file that is the queue."""
    file = tmp_path / "db.sqlite3"
    (tmp_path / "proj.py").write_text(PROJECT)
    (tmp_path / "conf.py").write_text(SETTINGS.format(file=str(file), url=f"sqlite:///{file}"))
    python(tmp_path, MIGRATE)
    assert run("-A", "proj", "migrate", "up", cwd=tmp_path).code == 0
    return tmp_path


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


def sent(folder: Path, name: str) -> int:
    """How often a task was sent."""
    return [row[0] for row in query(f"sqlite:///{folder}/db.sqlite3", NAMES)].count(name)


def test_its_scheduler_works_unchanged_also_twice(project: Path) -> None:
    """Row 14.8."""
    with ExitStack() as stack:
        began = time.monotonic()
        for name in ("one.log", "two.log"):
            stack.enter_context(beat(project, name))
        wait_for(lambda: sent(project, "proj.old") >= 3, "ticks of the settings' entry")
        assert sent(project, "proj.old") <= (time.monotonic() - began) / 2 + 1
        edited = time.monotonic()
        python(project, EDIT)
        wait_for(lambda: sent(project, "proj.new") >= 3, "ticks of the entry that was added")
        assert sent(project, "proj.new") <= time.monotonic() - edited + 1
        wait_for(lambda: old_has_stopped(project), "the end of the entry that was disabled")


def old_has_stopped(project: Path) -> bool:
    """Whether the entry at two seconds sends nothing while that at one second sends five times.

    One of its tasks may be on its way; a beat looks for edits at its next turn.
    """
    old, new = sent(project, "proj.old"), sent(project, "proj.new")
    wait_for(lambda: sent(project, "proj.new") >= new + 5, "more of the entry that was added")
    return sent(project, "proj.old") <= old + 1


def test_without_the_alias_the_beat_says_what_to_do(project: Path) -> None:
    """The package's own base class is not ours."""
    text = (project / "proj.py").read_text()
    (project / "proj.py").write_text(
        text.replace('river_compat.install_as("celery")', "").replace(
            "from celery", "from river_compat.celery"
        )
    )
    ran = run("-A", "proj", "beat", cwd=project)
    assert (ran.code, "install_as" in ran.stderr) == (2, True), ran.stderr
