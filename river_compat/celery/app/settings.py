"""`app.conf`: settings by attribute, item and `update()`.

What the code sets wins over what `config_from_object` names, and that over `add_defaults` and the
defaults. The configuration object is read at the first use of a setting, not before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from river_compat.celery.app.config_source import read_source, refuse_mixture
from river_compat.celery.app.periodic import PeriodicEntries
from river_compat.celery.app.setting_checks import SettingChecks, nearest
from river_compat.celery.app.setting_names import DEFAULTS, KNOWN, OF_OLD_NAME
from river_compat.celery.app.settings_view import SettingsView

_ENVIRONMENT = {
    "broker_url": "CELERY_BROKER_URL",
    "broker_read_url": "CELERY_BROKER_READ_URL",
    "broker_write_url": "CELERY_BROKER_WRITE_URL",
    "result_backend": "CELERY_RESULT_BACKEND",
}
_FALLS_BACK = {
    "broker_read_url": "broker_url",
    "broker_write_url": "broker_url",
    "task_default_exchange": "task_default_queue",
    "task_default_routing_key": "task_default_queue",
}
"""Settings that are those of another name where they are not set."""

_NOT_KEPT = frozenset({*_ENVIRONMENT, "beat_schedule"})

Source = Callable[[], Mapping[str, Any]]
Listener = Callable[[], Any]


def _nobody() -> None:
    """Hear nothing."""


class Settings(SettingsView):
    """The settings of one application. Names are the lower-case ones; old names are translated."""

    def __init__(
        self,
        explicit: Mapping[str, Any] | None = None,
        given: Mapping[str, Any] | None = None,
        before_load: Listener = _nobody,
        after_load: Listener = _nobody,
    ) -> None:
        """Start with what the constructor of the application was given.

        What is `given` by name, such as `broker=`, has no spelling of its own and mixes with old and new
        names. `before_load` and `after_load` are called when settings are first read.
        """
        self.__dict__["_explicit"] = {}
        self.__dict__["_spelled"] = set()
        self.__dict__["_added"] = []
        self.__dict__["_source"] = None
        self.__dict__["_prefix"] = ""
        self.__dict__["source_given"] = (None, False)
        self.__dict__["_loaded"] = None
        self.__dict__["_loading"] = False
        self.__dict__["_checks"] = SettingChecks()
        self.__dict__["_found"] = {}
        self.__dict__["periodic"] = PeriodicEntries()
        self.__dict__["_listeners"] = (before_load, after_load)
        self.update(explicit or {})
        for name, value in (given or {}).items():
            self._checks.check(name, value)
            self._explicit[name] = value

    def use_source(self, source: Any, silent: bool, namespace: str | None) -> None:
        """Read settings from `source` at the next use. See `config_source.read_source`."""
        self.__dict__["_source"] = lambda: read_source(source, silent, namespace)
        self.__dict__["source_given"] = (source, silent)
        self.__dict__["_prefix"] = f"{namespace.rstrip('_')}_" if namespace else ""
        self.__dict__["_loaded"] = None
        self._look_up_anew()

    def use_reader(self, read: Callable[[], Mapping[str, Any]]) -> None:
        """Read settings by a loader of the application's own at the next use."""
        self.__dict__["_source"] = lambda: read_source(read() or {}, False, None)
        self.__dict__["_loaded"] = None
        self._look_up_anew()

    def add_defaults(self, d: Mapping[str, Any] | Callable[[], Mapping[str, Any]]) -> None:
        """Add values that count where nothing else is set; a callable is asked at first use."""
        self._added.insert(0, d)
        self._look_up_anew()

    @property
    def configured(self) -> bool:
        """Whether settings were read since the source was named."""
        return self._loaded is not None

    def load(self) -> None:
        """Read the configuration object now; raises what its module raises, or ImproperlyConfigured."""
        if self._loaded is not None or self._loading:
            return
        before, after = self._listeners
        self.__dict__["_loading"] = True
        try:
            before()
            self.__dict__["_loaded"] = self._read()
        finally:
            self.__dict__["_loading"] = False
        after()

    def _read(self) -> dict[str, Any]:
        source: Source | None = self._source
        if source is None:
            refuse_mixture(self._spelled)
            return {}
        values = dict(source())
        for name, value in values.items():
            self._checks.check(name, value)
        return values

    def __getitem__(self, key: str) -> Any:
        """Return a setting; raises KeyError for an unknown name that was not set.

        Every call of a task reads a dozen, so what was found is kept for as long as nothing can change it
        unseen: not where defaults were added, whose mappings are the application's own, nor for names that
        depend on more than the layers.
        """
        found = self._found
        if key in found:
            return found[key]
        value = self._looked_up(key)
        if self._loaded is not None and not self._added and self._name_of(key) not in _NOT_KEPT:
            found[key] = value
        return value

    @property
    def kept(self) -> Any:
        """Another object after each change of a setting; None where settings can change unseen."""
        return None if self._loaded is None or self._added else self._found

    def _look_up_anew(self) -> None:
        """Forget what was found; a thread that keeps an older value just now does so where nobody looks."""
        self.__dict__["_found"] = {}

    def _looked_up(self, key: str) -> Any:
        name = self._name_of(key)
        variable = _ENVIRONMENT.get(name)
        if variable is not None and os.environ.get(variable):
            return os.environ[variable]
        self.load()
        for values in self._layers():
            if name in values:
                return self.periodic.within(values[name]) if name == "beat_schedule" else values[name]
        if name == "beat_schedule":
            return self.periodic.within(self.periodic.own)
        return self[_FALLS_BACK[name]] if name in _FALLS_BACK else DEFAULTS[name]

    def __getattr__(self, name: str) -> Any:
        """Return a setting; raises AttributeError for an unknown name that was not set."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no setting is named {name!r}{nearest(name)}") from None

    def __setitem__(self, key: str, value: Any) -> None:
        """Set a value; refuses by name what is not supported, warns once about unknown names."""
        name = self._name_of(key)
        self._checks.check(name, value)
        self._explicit[name] = value
        self._spelled.add(key)
        self._look_up_anew()

    __setattr__ = __setitem__

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Set a value where the code has set none; before settings were read, nothing is read for it."""
        if self.configured and key in self:
            return self[key]
        if self._name_of(key) not in self._explicit:
            self[key] = default
        return self._explicit[self._name_of(key)]

    @property
    def explicit(self) -> Mapping[str, Any]:
        """What code has set, by name: not what a configuration object says."""
        return MappingProxyType(self._explicit)

    def clear(self) -> None:
        """Forget what the code has set."""
        self._explicit.clear()
        self._spelled.clear()
        self._look_up_anew()

    def copy(self) -> Settings:
        """Return the same settings, apart: what is set in one of the two is not in the other."""
        self.load()
        twin = Settings()
        for name in ("_explicit", "_loaded", "_spelled"):
            twin.__dict__[name] = type(self.__dict__[name])(self.__dict__[name])
        twin.__dict__["_added"] = list(self._added)
        twin.__dict__["_prefix"] = self._prefix
        twin.__dict__["_checks"] = self._checks.copy()
        twin.__dict__["periodic"] = self.periodic
        return twin

    __copy__ = copy

    def _name_of(self, key: str) -> str:
        """Return a setting's own name for it, its old name, or its name under the namespace."""
        if self._prefix and isinstance(key, str) and key.startswith(self._prefix):
            bare = key.removeprefix(self._prefix).lower()
            if bare in KNOWN:
                return bare
        return OF_OLD_NAME.get(key, key)

    def __delitem__(self, key: str) -> None:
        """Forget what the code has set."""
        name = self._name_of(key)
        del self._explicit[name]
        self._spelled.difference_update({key, name})
        self._look_up_anew()

    def __iter__(self) -> Iterator[str]:
        """Iterate over every name that has a value."""
        self.load()
        names: dict[str, None] = {}
        for values in [*self._layers(), DEFAULTS]:
            names.update(dict.fromkeys(values))
        return iter(names)

    def __len__(self) -> int:
        """Return how many names have a value."""
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        """Show what differs from the defaults, without secrets."""
        return f"<Settings {self.table()!r}>"

    def _layers(self) -> Iterator[Mapping[str, Any]]:
        yield self._explicit
        yield self._loaded or {}
        for position, added in enumerate(self._added):
            if callable(added):
                self._added[position] = added()
            yield self._added[position]

    def is_set(self, key: str) -> bool:
        """Whether anyone has set the value, even to the default."""
        self.load()
        return any(key in values for values in self._layers())

    value_set_for = is_set

    def as_set(self) -> dict[str, Any]:
        """Return what the code has set, by name."""
        return dict(self._explicit)
