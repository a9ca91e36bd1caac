"""What the package celery itself left in an application that was moved: imports that were forgotten.

Nothing here imports that package, and a proxy is never evaluated: only types are looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType

from river_compat.celery.refusals import unsupported, unsupported_text

PACKAGE = "celery"
OURS = f"river_compat.{PACKAGE}"
DIRECTING = frozenset({"Ignore", "Reject", "Retry"})
"""Exceptions that direct a worker; here only our own do."""
_PROXIES = f"{PACKAGE}.local"
_FAMILY = frozenset({PACKAGE, "kombu", "billiard", "vine", "amqp", "river_compat", "river_core"})
_INSTALLED = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class Leftover:
    """A module, and what it holds of Celery's: pairs of its name there and the module that it comes from."""

    module: str
    held: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """Name the module and its first three objects."""
        named = [f"{name} of {origin}" for name, origin in self.held[:3]]
        more = len(self.held) - len(named)
        return f"{self.module} ({', '.join(named)}{f' and {more} more' if more else ''})"


def is_imported() -> bool:
    """Whether the package itself is imported here, not ours under its name."""
    module = sys.modules.get(PACKAGE)
    return module is not None and module.__name__ == PACKAGE and hasattr(module, "__path__")


def is_theirs(module: str | None) -> bool:
    """Whether a module is one of the package; ours never is, under whatever name it was imported."""
    return (module or "").partition(".")[0] == PACKAGE


def leftovers(own: frozenset[str] = frozenset()) -> list[Leftover]:
    """Return what modules hold of Celery's: those of the application or, where they hold nothing, others'.

    Modules below site-packages are others', unless their top-level package is among `own`.
    """
    mine: list[Leftover] = []
    others: list[Leftover] = []
    for name, module in sorted(sys.modules.items()):
        top = name.partition(".")[0]
        if top in _FAMILY or top in sys.stdlib_module_names - {"__main__"}:
            continue
        if issubclass(type(module), ModuleType) and (held := tuple(_held(module))):
            is_mine = top in own or not _is_installed(module)
            (mine if is_mine else others).append(Leftover(name, held))
    return mine or others


def refuse_base(cls: type, name: str) -> None:
    """Raise UnsupportedFeature for a task whose class is made from a class of Celery's."""
    for base in cls.__mro__:
        if is_theirs(base.__module__):
            raise unsupported(
                f"the class {base.__module__}.{base.__qualname__}, which task {name} is made from,",
                f"it belongs to the package celery; {_right_import(base)}",
            )


def refuse_operand(value: object) -> None:
    """Raise UnsupportedFeature for a signature of Celery's, which `|` would merge as a dict."""
    if is_theirs(type(value).__module__):
        raise unsupported(
            f"a {_dotted(type(value))} in a chain",
            "it belongs to the package celery; import signature, chain, group and chord from "
            "river_compat.celery, and shared_task",
        )


def explained(error: BaseException | None) -> str | None:
    """Return what is wrong with raising an exception of Celery's that directs a worker; else None."""
    for cls in type(error).__mro__:
        if cls.__name__ in DIRECTING and is_theirs(cls.__module__):
            return unsupported_text(
                f"raising {_dotted(cls)}", f"it is an ordinary failure here; {_right_import(cls)}"
            )
    return None


def _dotted(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _right_import(cls: type) -> str:
    if cls.__module__ == _PROXIES:
        return f"define it with shared_task, or the task() of a Celery, from {OURS}"
    return f"import {cls.__name__} from {OURS}{cls.__module__.removeprefix(PACKAGE)}"


def _held(module: ModuleType) -> Iterator[tuple[str, str]]:
    for name, value in list(vars(module).items()):
        origin = _origin(value)
        if is_theirs(origin):
            yield name, origin


def _origin(value: object) -> str:
    """Return the module that a global comes from; a proxy is not evaluated for it."""
    kind = type(value)  # isinstance would ask a proxy what it stands for
    if issubclass(kind, ModuleType):
        return str(vars(value).get("__name__") or "")
    if issubclass(kind, type | FunctionType):
        return str(getattr(value, "__module__", "") or "")
    return str(getattr(kind, "__module__", "") or "")


def _is_installed(module: ModuleType) -> bool:
    path = str(vars(module).get("__file__") or "")
    return any(part in path for part in _INSTALLED)
