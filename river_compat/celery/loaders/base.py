"""`BaseLoader`: reads configuration, imports task modules, and has hooks for a worker's life."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

from river_compat.celery import signals
from river_compat.celery.app.config_source import values_of
from river_compat.celery.loaders.cmdline import parse
from river_compat.celery.refused_names import refusing
from river_compat.celery.utils.collections import DictAttribute
from river_compat.celery.utils.imports import find_module, import_from_cwd, symbol_by_name
from river_compat.importing import import_submodule

__all__ = ["BaseLoader", "autodiscover_tasks", "find_related_module", "unconfigured"]

unconfigured = object()


class BaseLoader:
    """How an application finds its configuration and its tasks; subclasses override what they need."""

    builtin_modules: frozenset[str] = frozenset()
    configured = False
    override_backends: Mapping[str, str] = {}
    worker_initialized = False

    def __init__(self, app: Any, **kwargs: Any) -> None:
        """Belong to an application."""
        self.app = app
        self.task_modules: set[str] = set()
        self._conf: Any = unconfigured

    # -- hooks

    def on_task_init(self, task_id: str, task: Any) -> None:
        """Called before a task runs."""

    def on_process_cleanup(self) -> None:
        """Called after a task has run."""

    def on_worker_init(self) -> None:
        """Called when a worker starts, before it has connected."""

    def on_worker_shutdown(self) -> None:
        """Called when a worker ends."""

    def on_worker_process_init(self) -> None:
        """Called in each child process when it starts."""

    def now(self, utc: bool = True) -> datetime:
        """Return the time: in UTC, or this machine's own."""
        return datetime.now(UTC) if utc else datetime.now()  # noqa: DTZ005 - asked for

    # -- task modules

    def import_task_module(self, module: str) -> ModuleType:
        """Import a module and remember that it has tasks."""
        self.task_modules.add(module)
        found: ModuleType = self.import_from_cwd(module)
        return found

    def import_module(self, module: str, package: str | None = None) -> ModuleType:
        """Import a module."""
        return importlib.import_module(module, package=package)

    def import_from_cwd(self, module: str, imp: Any = None, package: str | None = None) -> Any:
        """Import a module, looking into the working directory first."""
        return import_from_cwd(module, self.import_module if imp is None else imp, package=package)

    def import_default_modules(self) -> list[ModuleType]:
        """Let a framework prepare, import what is to be discovered, then the modules that the settings name.

        What a receiver of the signal `import_modules` raises passes through.
        """
        for fixup in self.app.fixups:
            fixup.before_imports()
        responses = signals.import_modules.send(sender=self.app)
        for _, response in responses:
            if isinstance(response, Exception):
                raise response
        self.app.discover_tasks()
        return [self.import_task_module(name) for name in self.default_modules]

    @property
    def default_modules(self) -> tuple[str, ...]:
        """The names in `imports` and `include`."""
        conf = self.app.conf
        return (*self.builtin_modules, *_names(conf.imports), *_names(conf.include))

    def autodiscover_tasks(self, packages: Iterable[str], related_name: str | None = "tasks") -> None:
        """Import `<package>.<related_name>` of each package that has one."""
        found = autodiscover_tasks(packages, related_name)
        self.task_modules.update(module.__name__ for module in found if module is not None)

    # -- a worker's life

    def init_worker(self) -> None:
        """Import the default modules and call the hook, once."""
        if not self.worker_initialized:
            self.worker_initialized = True
            self.import_default_modules()
            self.on_worker_init()

    def shutdown_worker(self) -> None:
        """Call the hook."""
        self.on_worker_shutdown()

    def init_worker_process(self) -> None:
        """Call the hook."""
        self.on_worker_process_init()

    # -- configuration

    def config_from_object(self, obj: Any, silent: bool = False) -> bool:
        """Read configuration now; returns False where it cannot be imported and `silent` is set."""
        if isinstance(obj, str):
            try:
                obj = self._object_of_path(obj)
            except (ImportError, AttributeError):
                if silent:
                    return False
                raise
        self._conf = obj if isinstance(obj, Mapping) else DictAttribute(obj)
        if self._conf.get("override_backends") is not None:
            self.override_backends = self._conf["override_backends"]
        return True

    def _object_of_path(self, path: str) -> Any:
        if ":" in path:
            return symbol_by_name(path, imp=self.import_from_cwd)
        try:
            return self.import_from_cwd(path)
        except ModuleNotFoundError:
            if "." not in path:
                raise
            return symbol_by_name(path, imp=self.import_from_cwd)

    def cmdline_config_parser(self, args: Iterable[str], namespace: str = "celery", **kwargs: Any) -> Any:
        """Return settings that a command line gives, as `key=value`; see `loaders.cmdline`."""
        return parse(args, namespace, **kwargs)

    def read_configuration(self, env: str = "CELERY_CONFIG_MODULE") -> Any:
        """Return the settings of the module that an environment variable names, or None."""
        name = os.environ.get(env)
        if not name:
            return None
        return DictAttribute(self.import_from_cwd(name))

    def find_module(self, module: str) -> Any:
        """Return the spec of a module."""
        return find_module(module)

    @cached_property
    def conf(self) -> Any:
        """The settings that this loader finds, by name."""
        if self._conf is unconfigured:
            self._conf = self.read_configuration()
        return values_of(self._conf) if self._conf is not None else {}


def _names(names: Any) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())


def autodiscover_tasks(packages: Iterable[str], related_name: str | None = "tasks") -> list[Any]:
    """Import `<package>.<related_name>` of each package; None stands for one that has none."""
    return [find_related_module(package, related_name) for package in packages or ()]


def find_related_module(package: str, related_name: str | None) -> ModuleType | None:
    """Import `package.related_name`, or the package itself for None; returns None where it has none.

    Errors inside the module pass through.
    """
    return import_submodule(package, related_name)


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
