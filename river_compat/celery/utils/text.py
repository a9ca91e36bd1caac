"""Text for people: shortened, indented, listed (`celery.utils.text`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pprint import pformat
from textwrap import dedent, fill
from typing import Any

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
    "remove_repeating_from_task",
    "simple_format",
    "str_to_list",
    "truncate",
    "truncate_bytes",
]


def str_to_list(value: Any) -> Any:
    """Return text as a list of what its commas part; anything else as it is."""
    return value.split(",") if isinstance(value, str) else value


def dedent_initial(text: str, n: int = 4) -> str:
    """Take `n` spaces off the first line."""
    return text[n:] if text[:n] == " " * n else text


def ensure_newlines(text: str, n: int = 2) -> str:
    """Return text that ends in at least `n` line ends."""
    return ensure_sep("\n", text, n)


def ensure_sep(sep: str, text: str, n: int = 2) -> str:
    """Return text that has at least `n` separators, the missing ones at its end."""
    return text + sep * (n - text.count(sep))


def abbr(text: str | None, max: int, ellipsis: str | None = ELLIPSIS) -> str:  # noqa: A002 - Celery's name
    """Cut text to `max` characters, the ellipsis among them."""
    if text is None:
        return UNKNOWN_DEFAULT
    if len(text) <= max:
        return text
    return text[: max - len(ellipsis)] + ellipsis if ellipsis else text[:max]


def abbrtask(name: str | None, max: int) -> str:  # noqa: A002 - Celery's name
    """Cut a task's name from the left: its module becomes `[.]`."""
    if name is None:
        return UNKNOWN_DEFAULT
    if len(name) <= max:
        return name
    module, _, last = name.rpartition(".")
    mark = f"[.]{last}"
    return abbr(module, max - len(mark), None) + mark if max > len(mark) else mark


def indent(text: str, indent: int = 0, sep: str = "\n") -> str:
    """Put spaces before every line."""
    return sep.join(" " * indent + line for line in text.split(sep))


def truncate(text: str, maxlen: int = 128, suffix: str = ELLIPSIS) -> str:
    """Cut text after `maxlen` characters and add the suffix."""
    return text if len(text) <= maxlen else text[:maxlen] + suffix


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


def match_case(text: str, other: str) -> str:
    """Return text in the case of another's letters."""
    return text.upper() if other.isupper() else text.lower()


def simple_format(
    text: str, keys: Mapping[str, Any], pattern: re.Pattern[str] = _PERCENT, expand: str = r"\1"
) -> str:
    """Replace `%n` by the value of `n`, which may be a function, and `%%` by a percent sign.

    Raises ValueError for a letter that stands for nothing.
    """
    if not text:
        return text

    def value_of(match: re.Match[str]) -> str:
        key = match.expand(expand)
        if key == "%":
            return "%"
        try:
            value = keys[key]
        except KeyError:
            raise ValueError(f"Unknown format %{key} in string {text!r}") from None
        return str(value() if callable(value) else value)

    return pattern.sub(value_of, text)


def remove_repeating_from_task(task_name: str, text: str) -> str:
    """Drop the module of a task's name from further names in a text, but not from the first."""
    module, dot, _ = task_name.rpartition(".")
    if not dot:
        return text
    head, found, rest = text.partition(task_name)
    if not found:
        return text
    return head + found + re.sub(rf"(?<![\w.-]){re.escape(module)}\.", "", rest)


def join(items: Iterable[Any], sep: str = " ") -> str:
    """Join what is not empty."""
    return sep.join(str(item) for item in items if item)


def fill_paragraphs(text: str, width: int, sep: str = "\n") -> str:
    """Wrap each paragraph."""
    return sep.join(fill(paragraph, width) for paragraph in text.split(sep))
