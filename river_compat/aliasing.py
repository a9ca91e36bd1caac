"""`install_as`: one of our packages under the name of the library whose place it takes.

For code that imports the library itself and that nobody wants to change: third-party applications, plugins.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from river_core.errors import ConfigurationError

PACKAGES = {"celery": "river_compat.celery"}


def install(name: str) -> None:
    """Do what `river_compat.install_as` promises."""
    target = PACKAGES.get(name)
    if target is None:
        raise ConfigurationError(f"install_as takes {' or '.join(map(repr, PACKAGES))}, not {name!r}")
    if any(isinstance(finder, AliasFinder) and finder.name == name for finder in sys.meta_path):
        return
    foreign = sys.modules.get(name)
    if foreign is not None and foreign is not sys.modules.get(target):
        raise ConfigurationError(
            f"{name} itself has been imported already, from {getattr(foreign, '__file__', None)}; call "
            f"river_compat.install_as({name!r}) before anything imports it"
        )
    sys.meta_path.insert(0, AliasFinder(name, target))


class AliasFinder(MetaPathFinder):
    """Finds a package and its submodules under another name; nothing falls through to the real ones."""

    def __init__(self, name: str, target: str) -> None:
        """Take the name and the package that it stands for."""
        self.name = name
        self._target = target

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Import our module and file it under the other name, too; None for one that is not here.

        The search goes on in the folder of our package then, never in that of the library.
        """
        if fullname != self.name and not fullname.startswith(f"{self.name}."):
            return None
        ours = self._target + fullname.removeprefix(self.name)
        try:
            module = importlib.import_module(ours)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{ours}.".startswith(f"{error.name}."):
                raise
            return None
        return ModuleSpec(fullname, _Existing(module), is_package=hasattr(module, "__path__"))


class _Existing(Loader):
    """Gives the import system a module that is there already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._kept = {name: getattr(module, name, None) for name in ("__spec__", "__loader__")}

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Put back what the import system has written on the module."""
        for name, value in self._kept.items():
            setattr(module, name, value)
