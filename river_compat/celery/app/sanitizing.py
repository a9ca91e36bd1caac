"""Hides what is secret in settings: passwords in URLs, and values whose names say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "********"
HIDDEN = re.compile("API|TOKEN|KEY|SECRET|PASS|SIGNATURE|DATABASE|URL", re.IGNORECASE)
"""Names of settings whose values are not shown."""
_CREDENTIALS = re.compile(r"(?<=://)([^/@:;,\s]*):([^/\s]*)@(?=[^@]*$)")
_NAMED_SECRETS = re.compile(r"\b(AccountKey|SharedAccessSignature|sig)=[^;&]*(?:&[^;]*)?", re.IGNORECASE)


def sanitize_url(url: Any, mask: str = MASK) -> Any:
    """Return a URL, or several parted by semicolons, without passwords; what is no text as it is."""
    if not isinstance(url, str) or not url:
        return url
    text = _NAMED_SECRETS.sub(lambda match: f"{match[1]}={mask}", url)
    return ";".join(_CREDENTIALS.sub(rf"\1:{mask}@", part) for part in text.split(";"))


def filter_hidden_settings(conf: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return settings with everything hidden whose name looks secret, and URLs without passwords."""
    return {key: _filtered(key, value) for key, value in conf.items()}


def _filtered(key: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        return filter_hidden_settings(value)
    if not isinstance(key, str):
        return value
    if "url" in key.lower() or "backend" in key.lower():
        return sanitize_url(value)
    return MASK if value and HIDDEN.search(key) else value


def shown(name: str, value: Any) -> Any:
    """Return a setting as it is listed: hidden where its name looks secret, URLs without passwords."""
    if value and HIDDEN.search(name):
        return MASK
    return sanitize_url(value) if name == "result_backend" else value
