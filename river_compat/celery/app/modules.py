"""The modules that hold tasks: `include`, `imports` and what `autodiscover_tasks` finds."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from river_compat.importing import working_directory_first

if TYPE_CHECKING:
    from river_compat.celery.loaders.base import BaseLoader

Packages = Iterable[str] | Callable[[], Iterable[str]] | None


@dataclass(frozen=True, slots=True)
class Discovery:
    """One call of `autodiscover_tasks`, to be carried out when task modules are imported."""

    packages: Packages
    related_name: str | None

    def run(self, loader: BaseLoader) -> None:
        """Let a loader import `<package>.<related_name>` of each package that has one.

        Errors inside a module pass through; a missing module is none.
        """
        with working_directory_first():
            loader.autodiscover_tasks(self._packages(), self.related_name)

    def _packages(self) -> list[str]:
        if self.packages is None:
            return []
        named = self.packages() if callable(self.packages) else self.packages
        return [named] if isinstance(named, str) else list(named)


class TaskModules:
    """What an application imports."""

    loader: Any
    _discoveries: list[Discovery]
    _fixups: list[Any]

    def autodiscover_tasks(
        self, packages: Packages = None, related_name: str | None = "tasks", force: bool = False
    ) -> None:
        """Import `<package>.<related_name>` of each package when a worker starts, or now (`force`).

        Without packages those of Django's installed apps are meant.
        """
        discovery = Discovery(self._installed_packages if packages is None else packages, related_name)
        if force:
            discovery.run(self.loader)
        else:
            self._discoveries.append(discovery)

    def discover_tasks(self) -> None:
        """Do what `autodiscover_tasks` was called for; loaders call it before they import other modules."""
        for discovery in self._discoveries:
            discovery.run(self.loader)

    def _installed_packages(self) -> list[str]:
        return [package for fixup in self._fixups for package in fixup.autodiscover_tasks()]

    def import_default_modules(self, more: Iterable[str] = ()) -> list[str]:
        """Import what was to be discovered, then `include`, `imports` and `more`; returns the latters' names.

        What a receiver of the signal `import_modules` raises passes through.
        """
        with working_directory_first():
            found = [module.__name__ for module in self.loader.import_default_modules()]
            return [*found, *import_modules(more)]


def import_modules(names: Iterable[str]) -> list[str]:
    """Import modules by name; return their names, each once."""
    return [importlib.import_module(name).__name__ for name in dict.fromkeys(names)]
