"""Text for people: shortened, indented, listed (`celery.utils.text`)."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping
from pprint import pformat
from textwrap import fill
from typing import TYPE_CHECKING, Any

from river_compat.celery.refused_names import refusing

UNKNOWN_DEFAULT = "???"
ELLIPSIS = "..."

_PERCENT = re.compile(r"%(%|[a-zA-Z])")

__all__ = [
    "abbr",
    "abbrtask",
    "dedent",
    "dedent_initial",
    "ensure_newlines",
    "ensure_sep",
    "fill_paragraphs",
    "indent",
    "join",
    "match_case",
    "pluralize",
    "pretty",
    "remove_repeating",
    "remove_repeating_from_task",
    "simple_format",
    "str_to_list",
    "truncate",
    "truncate_bytes",
]


def str_to_list(s: Any) -> Any:
    """Return text as a list of what its commas part; anything else as it is."""
    return s.split(",") if isinstance(s, str) else s


def dedent_initial(s: str, n: int = 4) -> str:
    """Take `n` spaces off the first line."""
    return s[n:] if s[:n] == " " * n else s


def dedent(s: str, sep: str = "\n") -> str:
    """Take four spaces off every line that begins with them; lines are parted by `sep` then."""
    return sep.join(dedent_initial(line) for line in s.splitlines())


def ensure_newlines(s: str, n: int = 2) -> str:
    """Return text that ends in at least `n` line ends."""
    return ensure_sep("\n", s, n)


def ensure_sep(sep: str, s: str, n: int = 2) -> str:
    """Return text that has at least `n` separators, the missing ones at its end."""
    return s + sep * (n - s.count(sep))


def abbr(S: str | None, max: int, ellipsis: str | None = ELLIPSIS) -> str:  # noqa: A002, N803 - Celery's
    """Cut text to `max` characters, the ellipsis among them."""
    if S is None:
        return UNKNOWN_DEFAULT
    if len(S) <= max:
        return S
    return S[: max - len(ellipsis)] + ellipsis if ellipsis else S[:max]


def abbrtask(S: str | None, max: int) -> str:  # noqa: A002, N803 - Celery's
    """Cut a task's name from the left: its module becomes `[.]`."""
    if S is None:
        return UNKNOWN_DEFAULT
    if len(S) <= max:
        return S
    module, _, last = S.rpartition(".")
    mark = f"[.]{last}"
    return abbr(module, max - len(mark), None) + mark if max > len(mark) else mark


def indent(t: str, indent: int = 0, sep: str = "\n") -> str:
    """Put spaces before every line."""
    return sep.join(" " * indent + line for line in t.split(sep))


def truncate(s: str, maxlen: int = 128, suffix: str = ELLIPSIS) -> str:
    """Cut text that has `maxlen` characters or more, at a space where there is one, and add the suffix."""
    return s[:maxlen].rsplit(" ", 1)[0] + suffix if maxlen and len(s) >= maxlen else s


def truncate_bytes(data: bytes, maxlen: int = 128, suffix: bytes = b"...") -> bytes:
    """Cut bytes after `maxlen` and add the suffix."""
    return data if len(data) <= maxlen else data[:maxlen] + suffix


def pluralize(n: float, text: str, suffix: str = "s") -> str:
    """Return a word's plural for more than one."""
    return text + suffix if n != 1 else text


def pretty(
    value: Any,
    width: int = 80,
    nl_width: int = 80,
    sep: str = "\n",
    *,
    formatter: Callable[..., str] = pformat,
) -> str:
    """Return a value laid out over lines."""
    if isinstance(value, dict):
        return "{" + sep + formatter(value, nl_width)[1:]
    if isinstance(value, tuple):
        return f"{sep}{' ' * 4}{formatter(value, nl_width)}"
    return formatter(value, width)


def match_case(s: str, other: str) -> str:
    """Return text in the case of another's letters."""
    return s.upper() if other.isupper() else s.lower()


def simple_format(
    s: str, keys: Mapping[str, Any], pattern: re.Pattern[str] = _PERCENT, expand: str = r"\1"
) -> str:
    """Replace `%n` by the value of `n`, which may be a function, and `%%` by a percent sign.

    Raises ValueError for a letter that stands for nothing.
    """
    if not s:
        return s

    def value_of(match: re.Match[str]) -> str:
        key = match.expand(expand)
        if key == "%":
            return "%"
        try:
            value = keys[key]
        except KeyError:
            raise ValueError(f"Unknown format %{key} in string {s!r}") from None
        return str(value() if callable(value) else value)

    return pattern.sub(value_of, s)


def remove_repeating_from_task(task_name: str, s: str) -> str:
    """Drop the module of a task's name from further names in a text, but not from the first."""
    module, dot, _ = task_name.rpartition(".")
    return remove_repeating(f"{module}.", s) if dot else s


def remove_repeating(substr: str, s: str) -> str:
    """Drop a text from a longer one but for the first time, wherever it begins a name."""
    head, found, rest = s.partition(substr)
    return head + found + re.sub(rf"(?<![\w.-]){re.escape(substr)}", "", rest) if found else s


def join(l: Iterable[Any], sep: str = "\n") -> str:  # noqa: E741 - the name is Celery's
    """Join what is not empty."""
    return sep.join(str(item) for item in l if item)


class WhateverIO(io.StringIO):
    """Text in memory that takes bytes, which are UTF-8, too."""

    def __init__(self, v: bytes | str | None = None, *args: Any, **kwargs: Any) -> None:
        """Begin with a text."""
        super().__init__(v.decode("utf-8", "replace") if isinstance(v, bytes) else v, *args, **kwargs)

    def write(self, data: bytes | str) -> int:
        """Write a text."""
        return super().write(data.decode("utf-8", "replace") if isinstance(data, bytes) else data)


def fill_paragraphs(s: str, width: int, sep: str = "\n") -> str:
    """Wrap each paragraph."""
    return sep.join(fill(paragraph, width) for paragraph in s.split(sep))


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
