"""Colours of terminals (`celery.utils.term`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from river_compat.celery.refused_names import refusing

__all__ = ["colored"]

RESET = "\033[0m"
_FOREGROUND = {
    "black": 30,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "magenta": 35,
    "cyan": 36,
    "white": 37,
}
_STYLES = {"bold": 1, "underline": 4, "blink": 5, "reverse": 7, "bright": 8}
_CODES = {
    **{name: f"\033[{code}m" for name, code in _STYLES.items()},
    **{name: f"\033[1;{code}m" for name, code in _FOREGROUND.items()},
    **{f"i{name}": f"\033[{code + 10}m" for name, code in _FOREGROUND.items()},
}


class colored:  # noqa: N801 - the name is Celery's
    """Text in colours: `str(colored().red("stop ", colored().bold("now")))`.

    Any name of a colour, with a leading `i` for the background, or of a style is a method. With
    `enabled=False` the text stays plain.
    """

    def __init__(self, *parts: Any, enabled: bool | None = True, code: str = "") -> None:
        """Hold the parts of a text."""
        self._parts = parts
        self._code = code
        self.enabled = bool(enabled)

    @property
    def names(self) -> dict[str, Callable[..., colored]]:
        """Every colour and style by its name."""
        return {name: getattr(self, name) for name in _CODES}

    def __getattr__(self, name: str) -> Callable[..., colored]:
        """Return the method of a colour or style."""
        code = RESET if name == "reset" else _CODES.get(name)
        if code is None:
            raise AttributeError(f"no colour is named {name!r}")
        return lambda *parts: self.node(parts, code)

    def node(self, s: tuple[Any, ...], op: str) -> colored:
        """Return parts of a text behind a code of the terminal's."""
        return colored(*s, enabled=self.enabled, code=op)

    def embed(self) -> str:
        """Return the text without the code that ends its colour."""
        return str(self).removesuffix(RESET) if self.enabled else self.no_color()

    def no_color(self) -> str:
        """Return the text without colours."""
        return "".join(part.no_color() if isinstance(part, colored) else str(part) for part in self._parts)

    def __str__(self) -> str:
        """Return the text."""
        if not self.enabled:
            return self.no_color()
        inner = "".join(f"{part}{self._code if isinstance(part, colored) else ''}" for part in self._parts)
        return f"{self._code}{inner}{RESET}"

    def __add__(self, other: Any) -> str:
        """Join with more text."""
        return str(self) + str(other)

    def __len__(self) -> int:
        """Count what is seen."""
        return len(self.no_color())


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
