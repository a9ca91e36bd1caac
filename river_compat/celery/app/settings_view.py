"""What can be asked of settings besides the value of one: by parts of its name, all that differ, as text."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from river_compat.celery.app import defaults
from river_compat.celery.app.sanitizing import shown
from river_compat.celery.app.setting_names import DEFAULTS, has_effect
from river_compat.celery.app.settings_layers import SettingsLayers


class SettingsView(SettingsLayers):
    """Settings, as others look at them."""

    @abstractmethod
    def is_set(self, key: str) -> bool:
        """Whether anyone has set the value, even to the default."""

    def find_option(self, name: str, namespace: str = "") -> Any:
        """Return section, name and option of a setting given with or without its section.

        Raises KeyError for a name that no setting has.
        """
        return defaults.find(name, namespace)

    def find_value_for_key(self, name: str, namespace: str = "celery") -> Any:
        """Return the value of a setting given without its section, such as `always_eager`."""
        section, key, _ = self.find_option(name, namespace)
        return self.get_by_parts(section, key)

    def get_by_parts(self, *parts: str) -> Any:
        """Return the value of a setting whose name is given in parts."""
        return self["_".join(part for part in parts if part)]

    def first(self, *names: str) -> Any:
        """Return the value of the first setting that has one."""
        return next((value for name in names if (value := self.get(name)) is not None), None)

    def without_defaults(self) -> dict[str, Any]:
        """Return what differs in origin from the defaults."""
        return {name: self[name] for name in self if self.is_set(name)}

    def without_effect(self) -> list[str]:
        """Return, sorted, the settings that differ from their default and do nothing here."""
        unset = object()
        return sorted(
            name
            for name, value in self.without_defaults().items()
            if not has_effect(name) and value != DEFAULTS.get(name, unset)
        )

    def table(self, with_defaults: bool = False, censored: bool = True) -> dict[str, Any]:
        """Return the settings as a dict; values whose names look secret are hidden."""
        values = dict(self) if with_defaults else self.without_defaults()
        return {name: shown(name, value) if censored else value for name, value in values.items()}

    def humanize(self, with_defaults: bool = False, censored: bool = True) -> str:
        """Return the settings as lines of text."""
        return "\n".join(f"{name}: {value!r}" for name, value in self.table(with_defaults, censored).items())
