"""The modules that hold tasks: `include`, `imports` and what `autodiscover_tasks` finds."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from river_compat.importing import import_submodule, working_directory_first

Packages = Iterable[str] | Callable[[], Iterable[str]] | None


@dataclass(frozen=True, slots=True)
class Discovery:
    """One call of `autodiscover_tasks`, to be carried out when task modules are imported."""

    packages: Packages
    related_name: str | None

    def run(self) -> list[str]:
        """Import `<package>.<related_name>` of each package that has one; return the modules' names.

        Errors inside a module pass through; a missing module is none.
        """
        found = [import_submodule(package, self.related_name) for package in self._packages()]
        return [module.__name__ for module in found if module is not None]

    def _packages(self) -> list[str]:
        if self.packages is None:
            return []
        named = self.packages() if callable(self.packages) else self.packages
        return [named] if isinstance(named, str) else list(named)


def import_task_modules(names: Iterable[str], discoveries: Iterable[Discovery]) -> list[str]:
    """Import modules by name, then what the discoveries find; return the names of all."""
    imported: list[str] = []
    with working_directory_first():
        for name in dict.fromkeys(names):
            importlib.import_module(name)
            imported.append(name)
        for discovery in discoveries:
            imported.extend(discovery.run())
    return imported
