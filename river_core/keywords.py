"""Options of a call, given as one object or as keywords of the same names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from river_core.errors import ValidationError

Options = TypeVar("Options")


def options(kind: type[Options], given: Options | None, keywords: Mapping[str, Any]) -> Options:
    """Return the object that was given, or one of `kind` made from the keywords.

    Raises ValidationError for both at once, for an object of another type and for an unknown keyword.
    """
    if given is not None and keywords:
        names = ", ".join(sorted(keywords))
        raise ValidationError(f"give options as {kind.__name__} or as keywords, not both: {names}")
    if given is not None:
        if not isinstance(given, kind):
            raise ValidationError(f"options are given as {kind.__name__}, not as {given!r}")
        return given
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type] # a dataclass, which no bound can say
    unknown = sorted(keywords.keys() - set(known))
    if unknown:
        raise ValidationError(f"there is no option {', '.join(unknown)}; the options are {', '.join(known)}")
    return kind(**keywords)
