"""What a worker warns about once at its start: settings that do nothing here, and imports left behind.

Only the worker says it: a producer, a migration or a test that imports the application stays silent.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType

from river_compat.celery import Celery

_THEIRS = "celery"

logger = logging.getLogger(__name__)


def say_notices(app: Celery) -> None:
    """Log each notice that applies, at WARNING; call it when the application's modules are imported."""
    for notice in (*_settings(app), *_imports(app)):
        logger.warning(notice)


def _settings(app: Celery) -> Iterator[str]:
    names = app.conf.without_effect()
    if names:
        yield f"settings without effect here: {', '.join(names)}"


def _imports(app: Celery) -> Iterator[str]:
    if _THEIRS not in sys.modules:
        return
    seen = _first_use(app)
    yield (
        f"the package celery is imported as well{f', by {seen}' if seen else ''}. Its exceptions, signals, "
        "current_task and results are not those of river_compat.celery: change imports of celery.exceptions, "
        "celery.utils.log, celery.result and the like, too; `pip uninstall celery` finds them all"
    )


def _first_use(app: Celery) -> str | None:
    """Return the first module with tasks that holds something of Celery's, and what; None if none does."""
    names = dict.fromkeys(app.tasks[task].__module__ for task in sorted(app.tasks))
    for module in (sys.modules[name] for name in names if name in sys.modules):
        for name, value in vars(module).items():
            origin = _origin(value)
            if origin.partition(".")[0] == _THEIRS:
                return f"{module.__name__} ({name} of {origin})"
    return None


def _origin(value: object) -> str:
    """Return the module that a global comes from; a proxy is not evaluated for it."""
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type | FunctionType):
        return value.__module__ or ""
    return type(value).__module__
