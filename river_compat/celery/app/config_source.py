"""Reads a configuration object: which of its names are settings, and under which spelling.

With a namespace, `CELERY_` + the new name in upper case counts, then the new name as it is, then an old name.
Without one, new lower-case or old upper-case names count, but not both kinds mixed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from river_compat.celery.app.setting_names import KNOWN, OF_OLD_NAME, SECTIONS, old_name
from river_compat.celery.exceptions import CeleryWarning, ImproperlyConfigured
from river_compat.importing import import_path, working_directory_first

TIME_ZONE_OF_DJANGO = "TIME_ZONE"
"""Django's setting, which counts where `timezone` is not set."""
OF_DJANGO = frozenset({"CELERY_DB_REUSE_MAX"})
"""Names that look like settings and are read by Django's fixup."""
OLD_BESIDE_NEW = ("CELERY", "BROKER_")
"""How old names begin that count under a namespace; others, as S3_BUCKET, may be meant for anything."""


def read_source(source: Any, silent: bool, namespace: str | None) -> dict[str, Any]:
    """Return settings by their new names from an object, class, mapping, `module` or `module:attribute`.

    With `silent` a module that cannot be imported counts as empty. Raises ImproperlyConfigured for
    mixed spellings; warns once per name under the namespace that no setting has, by its new or old name.
    """
    prefix = f"{namespace.rstrip('_')}_" if namespace else ""
    values = _values(source, silent, prefix)
    found = _of_namespace(values, prefix) if prefix else _translated(values)
    if isinstance(values.get(TIME_ZONE_OF_DJANGO), str):
        found.setdefault("timezone", values[TIME_ZONE_OF_DJANGO])
    return found


def _values(source: Any, silent: bool, prefix: str) -> dict[str, Any]:
    if isinstance(source, str):
        try:
            with working_directory_first():
                source = _imported(source)
        except ImportError:
            if silent:
                return {}
            raise
    return values_of(source, prefix)


def _imported(path: str) -> Any:
    try:
        return import_path(path)
    except AttributeError as error:
        raise ModuleNotFoundError(f"no module or object named {path!r}: {error}", name=path) from error


def values_of(source: Any, prefix: str = "") -> dict[str, Any]:
    """Return what an object, class, module or mapping says by public names.

    With a namespace only its names and those of settings are asked for: Django's settings raise at the
    secret key that is not set.
    """
    names = source if isinstance(source, Mapping) else dir(source)
    public = [name for name in names if not str(name).startswith("_")]
    wanted = [
        name
        for name in public
        if str(name).startswith(prefix) or name in KNOWN or name == TIME_ZONE_OF_DJANGO or _is_old(str(name))
    ]
    return {name: source[name] if isinstance(source, Mapping) else getattr(source, name) for name in wanted}


def _of_namespace(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    old: dict[str, Any] = {}
    for key, value in values.items():
        is_prefixed = key.startswith(prefix) and _same_case(key, prefix)
        name = key.removeprefix(prefix).lower() if is_prefixed else ""
        if name in KNOWN:
            found[name] = value
        elif _is_old(key):
            old[OF_OLD_NAME[key]] = value
        elif name.startswith(SECTIONS):
            found[name] = value
        elif is_prefixed and key not in OF_DJANGO:
            _warn_unknown(key, name, prefix)
    return {**old, **_of_no_namespace(values), **found}


def _is_old(key: str) -> bool:
    return key in OF_OLD_NAME and key.startswith(OLD_BESIDE_NEW)


def _of_no_namespace(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by their plain names, without what a module of settings has only imported."""
    return {
        key: value
        for key, value in values.items()
        if key in KNOWN and not callable(value) and not isinstance(value, ModuleType)
    }


def _same_case(key: str, prefix: str) -> bool:
    return key.isupper() if prefix.isupper() else key.islower()


def _warn_unknown(key: str, name: str, prefix: str) -> None:
    close = get_close_matches(name, KNOWN, 1, 0.6)
    advice = f"; did you mean {prefix}{close[0].upper()}?" if close else ""
    warnings.warn(CeleryWarning(f"{key} is no setting and is ignored{advice}"), stacklevel=2)


def _translated(values: Mapping[str, Any]) -> dict[str, Any]:
    refuse_mixture(values)
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = OF_OLD_NAME.get(key) if key not in KNOWN else None
        if name is not None:
            found.setdefault(name, value)
        elif key in KNOWN or (not callable(value) and not isinstance(value, ModuleType)):
            found[key] = value
    return found


def refuse_mixture(names: Iterable[str]) -> None:
    """Raise ImproperlyConfigured, with every rename, where old and new names of settings are mixed.

    A setting that is there by both of its names is no mixture.
    """
    new = {key for key in names if key in KNOWN}
    old = {key for key in names if key in OF_OLD_NAME and key not in KNOWN}
    if not new or not old:
        return
    if len(old) > len(new):
        lonely = {name: old_name(name) for name in new if old_name(name) not in old}
        advice = "to their old names, or better all of the others to the new ones"
    else:
        lonely = {key: OF_OLD_NAME[key] for key in old if OF_OLD_NAME[key] not in new}
        advice = "to their new names"
    if lonely:
        renames = "\n".join(f"    {name} -> {other}" for name, other in sorted(lonely.items()))
        raise ImproperlyConfigured(
            f"old and new names of settings are mixed; rename these {advice}:\n{renames}"
        )
