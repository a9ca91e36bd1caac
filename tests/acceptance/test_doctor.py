"""`river-compat doctor`: what would be lost or would not run, as lines, as JSON and as the exit code."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
import redis

from tests.acceptance.commands import Ran, environment, run, worker

APPLICATION = """
from river_compat.celery import Celery

app = Celery("shop", broker={url!r})
app.conf.beat_schedule = {{"kept": {{"task": "shop.tick", "schedule": 60}}}}
app.conf.update({settings!r})


@app.task(name="shop.tick")
def tick():
    return "ran"
"""
REDBEAT = {"beat_scheduler": "redbeat.RedBeatScheduler"}


class Shop:
    """A directory with an application, and a migrated database."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        assert run("-d", url, "migrate", "up").code == 0
        self.settings()

    def settings(self, **settings: object) -> None:
        """Write the application anew."""
        (self.folder / "shop.py").write_text(APPLICATION.format(url=self.url, settings=settings))

    def send(self, *names: str) -> None:
        """Send tasks by their names."""
        script = f"from shop import app\nfor name in {names!r}: app.send_task(name)"
        subprocess.run([sys.executable, "-c", script], cwd=self.folder, env=environment(), check=True)

    def doctor(self, *options: str) -> Ran:
        """Examine it."""
        return run("-A", "shop", "doctor", *options, cwd=self.folder)


@pytest.fixture
def shop(tmp_path: Path, sqlite_path: Path) -> Shop:
    """What the settings say is the same on every database."""
    return Shop(tmp_path, f"sqlite:///{sqlite_path}")


def test_nothing_is_found_where_nothing_is_wrong(shop: Shop) -> None:
    """O26. A scheduler whose place ours takes is a note, not a finding, and says what is not read."""
    shop.send("shop.tick")
    ran = shop.doctor()
    assert (ran.code, ran.stdout.splitlines()[-1]) == (0, "0 findings")
    [note] = ran.stdout.splitlines()[:-1]
    assert note.startswith("note: celery.beat:PersistentScheduler means the scheduler here")
    assert "'celerybeat-schedule' is not read" in note


@pytest.mark.parametrize("given", ["setting", "option"])
def test_a_scheduler_that_cannot_work_is_one_finding(shop: Shop, given: str) -> None:
    """O26. The scenario: one finding, exit status 1; also for what the beat is started with."""
    if given == "setting":
        shop.settings(**REDBEAT)
    ran = shop.doctor(*(() if given == "setting" else ("-S", REDBEAT["beat_scheduler"])))
    assert ran.code == 1, ran.stderr
    finding, count = ran.stdout.splitlines()
    assert count == "1 finding"
    assert finding.startswith("finding: beat_scheduler='redbeat.RedBeatScheduler' is not supported")
    assert "would be lost: set redbeat_redis_url" in finding


@pytest.mark.redis
def test_entries_that_are_in_redis_alone_are_listed(shop: Shop, redis_url: str) -> None:
    """O26. Those of the settings, and those that redbeat took from older settings, would not be lost."""
    prefix = f"{uuid.uuid4()}:"
    with redis.Redis.from_url(redis_url) as client:
        names = ("kept", "was-in-settings", "nightly", "by-hand: 1")
        client.zadd(f"{prefix}:schedule", {f"{prefix}{name}": 1.0 for name in names})
        client.sadd(f"{prefix}:statics", "kept", "was-in-settings")
    shop.settings(redbeat_redis_url=redis_url, redbeat_key_prefix=prefix, **REDBEAT)
    ran = shop.doctor("--json")
    [finding] = json.loads(ran.stdout)
    assert (ran.code, finding["about"], finding["is_note"]) == (1, "beat_scheduler", False)
    assert finding["lost"] == ["by-hand: 1", "nightly"]


def test_a_redis_that_is_away_is_said(shop: Shop) -> None:
    """O26. The finding is the same; only what would be lost is not known."""
    shop.settings(redbeat_redis_url="redis://127.0.0.1:1/0", **REDBEAT)
    ran = shop.doctor()
    assert (ran.code, ran.stdout.splitlines()[-1]) == (1, "1 finding")
    assert "Redis cannot be asked" in ran.stdout


def test_a_scheduler_that_cannot_be_imported_is_a_finding(shop: Shop) -> None:
    """O26. A beat with it would end with 2."""
    ran = shop.doctor("-S", "nowhere.at:All")
    assert (ran.code, "nowhere.at:All" in ran.stdout) == (1, True), ran.stderr


def test_calls_of_tasks_that_nobody_defines_are_found(tmp_path: Path, database_url: str) -> None:
    """O07. The names in the table are compared with the registry; deleted ones do not count."""
    shop = Shop(tmp_path, database_url)
    shop.send("shop.tick", "shop.renamed", "shop.renamed", "shop.gone")
    ran = shop.doctor()
    assert ran.code == 1, ran.stderr
    found = [line for line in ran.stdout.splitlines() if line.startswith("finding: ")]
    assert [(line.split("'")[1], line[-1]) for line in found] == [("shop.gone", "1"), ("shop.renamed", "2")]
    assert run("-A", "shop", "purge", "-f", cwd=shop.folder).code == 0
    assert shop.doctor().code == 0


@pytest.mark.parametrize("how", ["celery", "django"])
def test_a_module_that_cannot_be_imported_ends_the_worker(
    tmp_path: Path, sqlite_path: Path, how: str
) -> None:
    """O07. With its traceback, whether the packages are named or are Django's applications."""
    url = f"sqlite:///{sqlite_path}"
    assert run("-d", url, "migrate", "up").code == 0
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "tasks.py").write_text("raise ImportError('hidden inside')\n")
    (tmp_path / "conf.py").write_text("SECRET_KEY = 'x'\nINSTALLED_APPS = ['pkg']\n")
    packages = "['pkg']" if how == "celery" else ""
    (tmp_path / "tasks.py").write_text(
        "from river_compat.celery import Celery\n"
        f"app = Celery('tasks', broker={url!r})\n"
        f"app.autodiscover_tasks({packages})\n"
    )
    env = {"DJANGO_SETTINGS_MODULE": "conf"} if how == "django" else {}
    with worker(tmp_path, "-c", "1", env=env) as process:
        assert process.exit_code() == 1
        log = process.log.read_text()
    assert "pkg/tasks.py" in log
    assert "ImportError: hidden inside" in log
