"""The modules that hold tasks: `include`, `imports` and what `autodiscover_tasks` finds."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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


def import_modules(names: Iterable[str]) -> list[str]:
    """Import modules by name; return their names, each once."""
    return [importlib.import_module(name).__name__ for name in dict.fromkeys(names)]
