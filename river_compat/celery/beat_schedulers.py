"""Which class a `beat_scheduler` setting, or `-S`, means."""

from __future__ import annotations

from typing import Any

from river_compat.celery.exceptions import ImproperlyConfigured, unsupported
from river_compat.celery.scheduler import Scheduler
from river_compat.celery.utils.imports import load_extension_class_names
from river_compat.importing import import_path

ENTRY_POINTS = "celery.beat_schedulers"
_THEIRS, _OURS = "celery.", "river_compat.celery."
_IN_SETTINGS = (
    "it keeps schedules in Redis; write them into beat_schedule, or into the tables of django-celery-beat, "
    "and leave the setting out: any number of beats may run"
)
REFUSED = {"redbeat": _IN_SETTINGS, "celery_redbeat": _IN_SETTINGS, "celerybeatredis": _IN_SETTINGS}


def scheduler_class(given: Any, namespace: str = ENTRY_POINTS) -> Any:
    """Return a class as it is, or the one that a path or the name of an entry point means.

    Raises UnsupportedFeature for schedulers that cannot work here, ImproperlyConfigured for a path that
    leads nowhere or to a scheduler of the package celery itself.
    """
    if not isinstance(given, str):
        return given
    path = dict(load_extension_class_names(namespace)).get(given, given)
    package = path.replace(":", ".").partition(".")[0]
    if package in REFUSED:
        raise unsupported(f"beat_scheduler={given!r}", REFUSED[package])
    if path.startswith(_THEIRS):
        path = _OURS + path.removeprefix(_THEIRS)
    return _checked(given, _imported(given, path))


def _imported(given: str, path: str) -> Any:
    try:
        return import_path(path)
    except (ImportError, AttributeError) as error:
        raise ImproperlyConfigured(
            f"beat_scheduler={given!r} cannot be imported: {error}; give module:Class, or leave it out"
        ) from error


def _checked(given: str, found: Any) -> Any:
    if isinstance(found, type) and not issubclass(found, Scheduler):
        bases = {base.__module__.partition(".")[0] for base in found.__mro__}
        if "celery" in bases:
            raise ImproperlyConfigured(
                f"beat_scheduler={given!r} is a scheduler of the package celery; let its imports mean "
                "river_compat.celery: call river_compat.install_as('celery') before anything imports celery"
            )
        raise ImproperlyConfigured(
            f"beat_scheduler={given!r} is no Scheduler; subclass river_compat.celery.beat.Scheduler"
        )
    return found
