"""The register of the commands that a worker answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class controller_info_t:  # noqa: N801 - the name is Celery's
    """What the command line shows of a command."""

    alias: str | None
    type: str
    visible: bool
    default_timeout: float
    help: str
    signature: str | None
    args: Sequence[tuple[str, Callable[[str], Any]]] | None
    variadic: str | None


class Panel:
    """The commands by name, and what is known of each."""

    data: dict[str, Command] = {}  # noqa: RUF012 - one register for the process, as in Celery
    meta: dict[str, controller_info_t] = {}  # noqa: RUF012

    @classmethod
    def register(cls, *args: Any, **kwargs: Any) -> Any:
        """Register a function as a command, bare or with options."""
        if args:
            return control_command(**kwargs)(*args)
        return control_command(**kwargs)


def control_command(**kwargs: Any) -> Callable[[Command], Command]:
    """Register a command that changes something.

    Options: `name`, `alias`, `visible`, `default_timeout` in seconds, `help`, `signature`, `args` and
    `variadic` for the command line.
    """
    return _registering("control", **kwargs)


def inspect_command(**kwargs: Any) -> Callable[[Command], Command]:
    """Register a command that only tells something; options as for `control_command`."""
    return _registering("inspect", **kwargs)


def _registering(
    type: str,  # noqa: A002
    alias: str | None = None,
    name: str | None = None,
    visible: bool = True,
    default_timeout: float = 1.0,
    help: str | None = None,  # noqa: A002
    signature: str | None = None,
    args: Iterable[tuple[str, Callable[[str], Any]]] | None = None,
    variadic: str | None = None,
) -> Callable[[Command], Command]:
    def register(function: Command) -> Command:
        key = name or function.__name__
        text = (help or function.__doc__ or "").strip().split("\n")[0]
        given = tuple(args) if args is not None else None
        info = controller_info_t(alias, type, visible, default_timeout, text, signature, given, variadic)
        for spelling in filter(None, (key, alias)):
            Panel.data[spelling] = function
        Panel.meta[key] = info
        return function

    return register


def ok(value: Any) -> dict[str, Any]:
    """Return the reply of a command that was carried out."""
    return {"ok": value}


def nok(value: Any) -> dict[str, Any]:
    """Return the reply of a command that could not be carried out."""
    return {"error": value}
