"""Refuses settings that are not supported, and warns of those that are nobody's."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from typing import Any

from river_compat.celery.app.setting_names import KNOWN, OF_OLD_NAME, REFUSED, SECURITY, has_effect
from river_compat.celery.exceptions import CeleryWarning, unsupported

_ONE_FORMAT = (
    "task_protocol=1 is not used: rows have one format, and no worker of Celery 3 reads them; remove the "
    "setting"
)


class SettingChecks:
    """The checks of one application's settings, which warn once of each name."""

    def __init__(self) -> None:
        """Nobody was warned yet."""
        self._warned: set[str] = set()

    def copy(self) -> SettingChecks:
        """Return the same for a copy of the settings."""
        twin = SettingChecks()
        twin._warned = set(self._warned)
        return twin

    def check(self, name: str, value: Any) -> None:
        """Check a value; warns of a name that is nobody's. Raises UnsupportedFeature for what is refused."""
        refusal = SECURITY if name.startswith("security_") else REFUSED.get(name)
        if refusal is not None and refusal.applies(value):
            raise unsupported(f"the setting {name}={value!r}", refusal.way_out)
        if name == "task_protocol" and value == 1 and self._first_time(name):
            warnings.warn(CeleryWarning(_ONE_FORMAT), stacklevel=4)
        known = name in KNOWN or not has_effect(name)
        if not known and _may_be_misspelled(name) and self._first_time(name):
            text = f"no setting is named {name!r}{nearest(name)}; it is kept as it is"
            warnings.warn(CeleryWarning(text), stacklevel=4)

    def _first_time(self, name: str) -> bool:
        new = name not in self._warned
        self._warned.add(name)
        return new


def _may_be_misspelled(name: str) -> bool:
    """Whether a name is meant as a setting; others are kept for the application itself."""
    return name.islower() and not name.startswith("_")


def nearest(name: str) -> str:
    """Return a question that names the setting that was perhaps meant, if there is one like it."""
    close = get_close_matches(name.lower(), [*KNOWN, *OF_OLD_NAME], 1, 0.6)
    return f"; did you mean {OF_OLD_NAME.get(close[0], close[0])!r}?" if close else ""
