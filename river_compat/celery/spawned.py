"""How a spawned child builds the worker that it belongs to: by importing the application again."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.importing import import_path, working_directory_first

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.command import WorkerOptions
    from river_core import Worker

FORK, SPAWN = "fork", "spawn"


@dataclass(frozen=True, slots=True)
class SpawnedWorker:
    """The worker as a value that a fresh interpreter can be given.

    `settings` are those that code has set, as far as they can be handed over; `prepare` is called with the
    application once its modules are imported.
    """

    path: str
    settings: Mapping[str, Any]
    options: WorkerOptions
    prepare: Callable[[Celery], object] | None = None

    @classmethod
    def of(
        cls, app: Celery, options: WorkerOptions, prepare: Callable[[Celery], object] | None
    ) -> SpawnedWorker:
        """Describe a worker; raises ImproperlyConfigured for an application that no module holds."""
        settings = {name: value for name, value in app.conf.explicit.items() if _can_go(value)}
        return cls(path_of(app), settings, options, prepare)

    def __call__(self) -> Worker:
        """Build it here."""
        from river_compat.celery.command import build_worker  # which needs this module

        with working_directory_first():
            app: Celery = import_path(self.path)
        app.conf.update(self.settings)
        prepare = self.prepare
        return build_worker(app, self.options, None if prepare is None else lambda: prepare(app))


def start_method(app: Celery) -> str | None:
    """Return the method of the setting, None where nothing is set; raises ImproperlyConfigured."""
    method = app.conf.worker_pool_start_method
    if method not in (FORK, SPAWN, None):
        raise ImproperlyConfigured(f"worker_pool_start_method is 'fork' or 'spawn', not {method!r}")
    return method if app.conf.is_set("worker_pool_start_method") else None


def path_of(app: Celery) -> str:
    """Return `module:name` of an application; raises ImproperlyConfigured when no module has it."""
    for module_name, module in list(sys.modules.items()):
        names = [name for name, value in vars(module).items() if value is app] if module is not None else []
        if names and module_name != "__mp_main__":
            return f"{module_name}:{names[0]}"
    raise ImproperlyConfigured(
        "worker_pool_start_method = 'spawn' needs an application that a module holds under a name: each "
        "child process imports it"
    )


def _can_go(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 - whatever a value raises: the child has it from its own modules
        return False
    return True
