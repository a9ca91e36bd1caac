"""Settings as options by section (`celery.app.defaults`), made of the table in `setting_names`."""

from __future__ import annotations

import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from river_compat.celery.app.setting_names import DEFAULTS, KNOWN, OF_OLD_NAME, old_name
from river_compat.celery.exceptions import CDeprecationWarning
from river_compat.celery.refused_names import refusing
from river_compat.celery.utils.serialization import strtobool

__all__ = ["DEFAULTS", "NAMESPACES", "SETTING_KEYS", "Option", "find", "flatten"]


class Option:
    """One setting: its default, its type, and how text becomes a value of that type."""

    alt: Any = None
    deprecate_by: Any = None
    remove_by: Any = None
    old: Any = frozenset()
    typemap: ClassVar[dict[str, Callable[[Any], Any]]] = {
        "string": str,
        "int": int,
        "float": float,
        "any": lambda value: value,
        "bool": strtobool,
        "dict": dict,
        "tuple": tuple,
    }

    def __init__(self, default: Any = None, type: str = "string", **extra: Any) -> None:  # noqa: A002 - Celery's
        """Take the default and the type's name."""
        self.default = default
        self.type = type
        self.__dict__.update(extra)

    def to_python(self, value: Any) -> Any:
        """Return text, as a command line gives it, as a value."""
        return self.typemap[self.type](value)

    def __repr__(self) -> str:
        """Show type and default."""
        return f"<Option: type->{self.type} default->{self.default!r}>"


DEFAULT_POOL = DEFAULTS["worker_pool"]
DEFAULT_ACCEPT_CONTENT = tuple(DEFAULTS["accept_content"])
DEFAULT_PROCESS_LOG_FMT = DEFAULTS["worker_log_format"]
DEFAULT_TASK_LOG_FMT = DEFAULTS["worker_task_log_format"]
_SECTIONS = ("beat", "broker", "cache", "control", "database", "event", "result", "river", "task", "worker")
_TYPES_WITHOUT_DEFAULT = {
    **dict.fromkeys(
        (
            "task_default_priority",
            "task_queue_max_priority",
            "broker_port",
            "worker_concurrency",
            "worker_eta_task_limit",
            "worker_max_memory_per_child",
            "worker_max_tasks_per_child",
        ),
        "int",
    ),
    **dict.fromkeys(("result_expires", "task_soft_time_limit", "task_time_limit"), "float"),
}
_TYPES = ((bool, "bool"), (int, "int"), (float, "float"), (dict, "dict"), ((tuple, list), "tuple"))


def _type_of(name: str, default: Any) -> str:
    if name in _TYPES_WITHOUT_DEFAULT:
        return _TYPES_WITHOUT_DEFAULT[name]
    if default is None:
        return "any"
    return next((name for kinds, name in _TYPES if isinstance(default, kinds)), "string")


def _by_section() -> dict[str, Any]:
    sections: dict[str, Any] = defaultdict(dict)
    for name in sorted(KNOWN):
        section, _, key = name.partition("_")
        option = Option(DEFAULTS.get(name), _type_of(name, DEFAULTS.get(name)))
        if section in _SECTIONS and key:
            sections[section][key] = option
        else:
            sections[name] = option
    return dict(sections)


NAMESPACES: dict[str, Any] = _by_section()
SETTING_KEYS = set(KNOWN)
_OLD_SETTING_KEYS = set(OF_OLD_NAME)
_TO_OLD_KEY = {name: old for old, name in OF_OLD_NAME.items()}
_TO_NEW_KEY = dict(OF_OLD_NAME)
_OLD_DEFAULTS = {old_name(name): value for name, value in DEFAULTS.items() if name in _TO_OLD_KEY}


class SearchResult(NamedTuple):
    """Where a setting is: its section, None for one without, its name there, and its option."""

    namespace: str | None
    key: str
    type: Any


searchresult = SearchResult


def _named(section: str, key: str, option: Any) -> list[tuple[str, Any]]:
    return [(section + key, option)]


def flatten(
    d: Mapping[str, Any],
    root: str = "",
    keyfilter: Callable[[str, str, Any], Iterable[tuple[str, Any]]] = _named,
) -> Iterator[tuple[str, Any]]:
    """Give what is in nested sections as pairs, those of the outer sections first.

    `keyfilter` is called with a section's name, a key in it and the option, and returns the pairs.
    """
    waiting = deque([(root, d)])
    while waiting:
        section, options = waiting.popleft()
        for key, option in options.items():
            if isinstance(option, dict):
                waiting.append((f"{section}{key}_", option))
            else:
                yield from keyfilter(section, key, option)


def find(name: str, namespace: str = "celery") -> SearchResult:
    """Return section, name and option of a setting, given with or without its section.

    A section that is named is looked into first. Raises KeyError for a name that no setting has.
    """
    name = name.lower()
    if name in NAMESPACES:
        return SearchResult(None, name, NAMESPACES[name])
    for section in dict.fromkeys((namespace.lower(), *_SECTIONS)):
        options: Mapping[str, Option] = NAMESPACES.get(section, {})
        if name in options:
            return SearchResult(section, name, options[name])
    section, _, key = name.partition("_")
    return SearchResult(None, name, NAMESPACES[section][key])


def find_deprecated_settings(source: Any) -> Any:
    """Warn of every old name that a source uses, with the new one."""
    for old, name in OF_OLD_NAME.items():
        if getattr(source, old, None) is not None:
            warnings.warn(CDeprecationWarning(f"the setting {old} is now {name}"), stacklevel=2)
    return source


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
