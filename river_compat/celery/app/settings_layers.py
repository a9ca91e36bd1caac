"""The settings as the stack of mappings that Celery has them in: `app.conf.maps`, `.changes`, `.defaults`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Self

from river_compat.celery.app.setting_names import DEFAULTS
from river_compat.celery.refusals import unsupported
from river_compat.celery.utils.chain_map import Layers


class SettingsLayers(Layers):
    """What Celery's `ConfigurationView` adds to a mapping, for the settings of an application."""

    _explicit: dict[str, Any]

    def load(self) -> None:
        """Read the configuration object."""
        raise TypeError(f"{type(self).__name__} does not say how it is read")

    def _layers(self) -> Iterator[Mapping[str, Any]]:
        raise TypeError(f"{type(self).__name__} does not say what it is made of")

    @property
    def maps(self) -> list[Mapping[str, Any]]:
        """What is looked into, first one first; the last are the defaults of the library."""
        self.load()
        return [*self._layers(), DEFAULTS]

    @property
    def changes(self) -> dict[str, Any]:
        """What the code has set, by name."""
        return self._explicit

    @property
    def defaults(self) -> list[Mapping[str, Any]]:
        """What is looked into for settings that the code has not set."""
        return self.maps[1:]

    def finalize(self) -> Self:
        """Read the configuration object, unless that was done, and return the settings."""
        self.load()
        return self

    def swap_with(self, other: Any) -> None:
        """Have the values of other settings from now on, and share what is set later."""
        self.__dict__.update(other.__dict__)

    def maybe_warn_deprecated_settings(self) -> NoReturn:
        """Refuse: old names are translated where settings are read, and not remembered."""
        raise unsupported(
            "app.conf.maybe_warn_deprecated_settings()",
            "celery.app.defaults.find_deprecated_settings(source) warns of each old name in a source",
        )
