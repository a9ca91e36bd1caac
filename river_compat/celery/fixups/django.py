"""Django's part in an application, where DJANGO_SETTINGS_MODULE is set (`celery.fixups.django`).

The working directory is on the path, tasks have `delay_on_commit`, a bare `autodiscover_tasks()` looks
through the installed apps, and workers set Django up before they import tasks and look after its connections.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from river_compat.celery.exceptions import FixupWarning
from river_compat.celery.refused_names import lacking, refusing

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.fixups.django_connections import DjangoConnections

ENVIRONMENT = "DJANGO_SETTINGS_MODULE"
SKIP_CHECKS = "CELERY_SKIP_CHECKS"
TASK_CLASS = "river_compat.celery.contrib.django.task:DjangoTask"

logger = logging.getLogger(__name__)


def fixup(app: Celery, env: str = ENVIRONMENT) -> DjangoFixup | None:
    """Return the fixup of an application where the environment names Django's settings, else None."""
    if not os.environ.get(env):
        return None
    if find_spec("django") is None:
        text = f"{env} is set, but Django is not installed: nothing is done for it"
        warnings.warn(FixupWarning(text), stacklevel=3)
        return None
    return DjangoFixup(app).install()


@lacking("before_imports, task_begins and task_ends do it", "on_import_modules on_worker_init worker_fixup")
class DjangoFixup:
    """What one application does because of Django. Django itself is not set up before it is needed."""

    def __init__(self, app: Celery) -> None:
        """Belong to `app`; install() does the rest."""
        self.app = app
        self._connections: DjangoConnections | None = None

    def install(self) -> DjangoFixup:
        """Put the working directory on the path, and give tasks Django's base class."""
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        self.app.default_task_class = TASK_CLASS
        return self

    def autodiscover_tasks(self) -> list[str]:
        """Return the names of the installed apps."""
        from django.apps import apps  # needs the settings

        return [config.name for config in apps.get_app_configs()]

    def now(self, utc: bool = False) -> datetime:
        """Return the time as Django has it, or in UTC."""
        from django.utils import timezone  # needs the settings

        return datetime.now(UTC) if utc else timezone.now()

    def before_imports(self) -> None:
        """Set Django up and run its system checks, unless CELERY_SKIP_CHECKS is set.

        What they find is logged, errors too: Celery's workers start all the same. The checks import the URLs,
        and with them the views, where some projects have tasks.
        """
        import django
        from django.conf import settings

        django.setup()
        if not os.environ.get(SKIP_CHECKS):
            _check()
        from river_compat.celery.fixups.django_connections import DjangoConnections

        if self._connections is None:
            self._connections = DjangoConnections(getattr(settings, "CELERY_DB_REUSE_MAX", None))

    def task_begins(self) -> None:
        """Let the task find connections that work."""
        if self._connections is not None:
            self._connections.task_begins()

    def task_ends(self) -> None:
        """Close what is too old or broken, and the caches."""
        if self._connections is not None:
            self._connections.task_ends()


def _check() -> None:
    from django.core import checks

    for message in checks.run_checks():
        if not message.is_silenced():
            logger.log(message.level, "%s", message)


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
