"""What a worker warns about once at its start: settings that do nothing here, and imports left behind.

Only the worker says it: a producer, a migration or a test that imports the application stays silent.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from river_compat.celery import Celery, leftovers

MOST_NAMED = 5
"""How many modules a notice names."""

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
    if not leftovers.is_imported():
        return
    found = leftovers.leftovers(_packages(app))
    named = ", ".join(map(str, found[:MOST_NAMED]))
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    yield (
        f"the package celery is imported as well{f', by {named}{more}' if named else ''}. A task made by its "
        "shared_task, Celery or Task is unknown to this worker, and its delay() goes to Celery's own broker, "
        "amqp://localhost where none is set. Its exceptions, signals, current_task and results are not those "
        "of river_compat.celery: change imports of celery.exceptions, celery.utils.log, celery.result and "
        "others, too; `pip uninstall celery` finds them all"
    )


def _packages(app: Celery) -> frozenset[str]:
    """Return the top-level packages that hold the application's tasks, installed ones too."""
    return frozenset(app.tasks[task].__module__.partition(".")[0] for task in app.tasks)
