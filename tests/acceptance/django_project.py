"""A Django project on a database of its own, as a team that has changed its imports would have it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.acceptance.commands import Ran, environment

SETTINGS = """
SECRET_KEY = "for tests"
INSTALLED_APPS = ["river_compat.django", "shop"]
TIME_ZONE = "Europe/Berlin"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CELERY_TASK_DEFAULT_QUEUE = "shop"
"""
CELERY = """
import os
from river_compat.celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_.settings")
app = Celery("site_")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
"""
MODELS = """
from django.db import models


class Order(models.Model):
    paid = models.BooleanField(default=False)
"""
TASKS = """
from river_compat.celery import shared_task
from django.db import connection


@shared_task
def pay(order):
    from shop.models import Order
    return Order.objects.filter(pk=order).update(paid=True)


@shared_task(bind=True, max_retries=2)
def pay_later(self, order):
    if self.request.retries == 0:
        raise self.retry(countdown=3600)
    return pay(order)


@shared_task
def backend_pid():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]
"""


@dataclass(frozen=True)
class Project:
    """The folder of the project."""

    folder: Path
    env: dict[str, str]

    def manage(self, *words: str) -> Ran:
        """Run `manage.py` to its end."""
        return self.python("-m", "django", *words)

    def script(self, text: str) -> str:
        """Run Python code with Django set up; return what it prints."""
        done = self.python("-c", f"import django\ndjango.setup()\n{text}")
        assert done.code == 0, done.stderr
        return done.stdout

    def python(self, *words: str) -> Ran:
        """Run Python in the project."""
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )
        return Ran(done.returncode, done.stdout, done.stderr)


def make(folder: Path, database: dict[str, Any], more: str = "", databases: str = "") -> Project:
    """Write the project; `more` are further lines of its settings."""
    files = {
        "site_/__init__.py": "from site_.celery import app\n",
        "site_/celery.py": CELERY,
        "site_/settings.py": f"{SETTINGS}DATABASES = {{'default': {database!r}{databases}}}\n{more}\n",
        "shop/__init__.py": "",
        "shop/models.py": MODELS,
        "shop/tasks.py": TASKS,
        "shop/migrations/__init__.py": "",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project = Project(folder, environment({"DJANGO_SETTINGS_MODULE": "site_.settings"}))
    made = project.manage("makemigrations", "shop", "-v", "0")
    assert made.code == 0, made.stderr
    return project


def on_postgres(url: str) -> dict[str, Any]:
    """Return Django's settings of a Postgres database."""
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path[1:],
        "HOST": parts.hostname,
        "PORT": parts.port,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "CONN_MAX_AGE": 600,
        "TEST": {"NAME": f"{parts.path[1:]}_test"},
    }


def on_sqlite(folder: Path) -> dict[str, Any]:
    """Return Django's settings of a SQLite file."""
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "db.sqlite3")}
