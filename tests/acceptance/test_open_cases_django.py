"""What users run into in Django's tests: nothing is committed there, and yet it must be seen and run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from river_compat.dev_database import Postgres
from tests.acceptance.commands import environment
from tests.databases import session_database

SETTINGS = """
SECRET_KEY = "for tests"
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "shop.urls"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": DATABASE}
"""
APPS = """
from django.apps import AppConfig
from django.db.models.signals import post_migrate


def migrate_river(using, **_):
    from contextlib import closing
    from river_core import Migrator
    from river_core.drivers.django import DjangoDriver
    with closing(DjangoDriver(using)) as driver:
        Migrator(driver).migrate_up()


class Shop(AppConfig):
    name = "shop"

    def ready(self):
        post_migrate.connect(migrate_river, sender=self)
"""
MODELS = """
from django.db import models


class Order(models.Model):
    paid = models.BooleanField(default=False)
"""
TASKS = """
from river_compat.celery import Celery
from river_core.drivers.django import DjangoDriver
from shop.models import Order

app = Celery("shop", river_driver=DjangoDriver())


@app.task(name="shop.pay")
def pay(order):
    Order.objects.filter(pk=order).update(paid=True)
"""
URLS = """
from django.http import HttpResponse
from django.urls import path
from shop.models import Order
from shop.tasks import pay


def buy(request):
    order = Order.objects.create()
    pay.delay(order.pk)
    return HttpResponse(order.pk)


urlpatterns = [path("buy/", buy)]
"""
TESTS = """
from django.db import connection, transaction
from django.test import TestCase

from river_compat.celery.command import build_worker
from river_core.testing import TestWorker, require_inserted, require_not_inserted
from shop.models import Order
from shop.tasks import app, pay


class Checkout:
    def test_a_view_enqueues_one_task_which_runs_here(self):
        order = int(self.client.get("/buy/").content)
        job = require_inserted(connection, "python_task", task="shop.pay")
        assert job.args["task"]["args_repr"] == f"({order},)"
        results = TestWorker.of(build_worker(app)).drain(connection)
        assert [result.outcome for result in results] == ["completed"]
        assert Order.objects.get(pk=order).paid

    def test_the_next_test_starts_empty(self):
        require_not_inserted(connection, "python_task")
        assert not Order.objects.exists()
        self.client.get("/buy/")

    def test_commit_callbacks_are_captured(self):
        with self.captureOnCommitCallbacks(execute=True) as callbacks:
            transaction.on_commit(lambda: pay.delay(1))
            require_not_inserted(connection, "python_task")
        assert len(callbacks) == 1
        require_inserted(connection, "python_task", task="shop.pay")


class One(Checkout, TestCase): ...
class Two(Checkout, TestCase): ...
class Three(Checkout, TestCase): ...
class Four(Checkout, TestCase): ...
"""


def _settings(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path[1:],
        "HOST": parts.hostname,
        "PORT": parts.port,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "TEST": {"NAME": f"{parts.path[1:]}_test"},
    }


@pytest.fixture
def project(tmp_path: Path, postgres_server: Postgres) -> Iterator[Path]:
    """A Django project with one application, on a database of its own."""
    shop = tmp_path / "shop"
    (shop / "migrations").mkdir(parents=True)
    for folder in (shop, shop / "migrations"):
        (folder / "__init__.py").touch()
    files = {"apps": APPS, "models": MODELS, "tasks": TASKS, "urls": URLS, "tests": TESTS}
    for name, text in files.items():
        (shop / f"{name}.py").write_text(text)
    with session_database(postgres_server.url) as database:
        settings = SETTINGS.replace("DATABASE}", f"{_settings(database.url)!r}}}")
        (shop / "settings.py").write_text(settings)
        yield tmp_path


@pytest.mark.postgres
@pytest.mark.parametrize("parallel", ["1", "4"])
def test_a_projects_tests_see_run_and_lose_what_they_enqueue(project: Path, parallel: str) -> None:
    """O47. A view enqueues, the test asserts it and runs it inline, and the next test finds nothing.

    Also in four processes. `delay_on_commit` does not exist yet; a callback of `on_commit` stands for it.
    """
    env = environment({"DJANGO_SETTINGS_MODULE": "shop.settings"})
    for arguments in (["makemigrations", "shop"], ["test", "--parallel", parallel, "--noinput"]):
        done = subprocess.run(
            [sys.executable, "-m", "django", *arguments],
            cwd=project,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert "Ran 12 tests" in done.stderr
