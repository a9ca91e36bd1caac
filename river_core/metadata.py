"""Values that a running job leaves in its row: checked, copied and bounded when they are given.

What is refused here raises inside the task, where its author can see it, and not when the outcome is
written.
"""

from __future__ import annotations

import json
import re
from typing import Any

from river_core.encoding import sanitize_text
from river_core.errors import ValidationError

MAX_OUTPUT_BYTES = 33_554_432
"""River's limit of a recorded output, as JSON text in UTF-8."""

_PERHAPS_UNSTORABLE = re.compile(r"[\ud800-\udfff]|\\u0000")


def json_copy(name: str, value: Any, max_bytes: int | None = None) -> Any:
    """Return a copy of `value` as JSON holds it; NUL and lone surrogates in texts become U+FFFD.

    Raises ValidationError, which names the value by `name`, for what JSON does not have, NaN and
    infinities included, and for more than `max_bytes`.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"{name} cannot be written as JSON: {error}") from error
    if max_bytes is not None and len(text.encode("utf-8", "replace")) > max_bytes:
        raise ValidationError(f"{name} is larger than {max_bytes} bytes of JSON")
    copy = json.loads(text)
    return _storable(copy) if _PERHAPS_UNSTORABLE.search(text) else copy


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {sanitize_text(key): _storable(item) for key, item in value.items()}
    return value
