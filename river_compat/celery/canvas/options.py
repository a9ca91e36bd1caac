"""Which options of a call are for which part of a workflow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

OF_LINKS = ("link", "link_error")
"""Options that say what follows."""
OF_CHAIN = ("task_id", "group_id", "group_index", "chord", "root_id", "parent_id", *OF_LINKS)
"""Options that are about a chain; the others are those of its first task."""
OF_HEADER = ("countdown", "eta")
"""Options of a chord that are for its header alone."""
NOT_OF_BODY = (*OF_HEADER, "parent_id", "connection")
"""Options of a chord that its body does not get."""
OF_PLACE = (*(name for name in OF_CHAIN if name not in OF_LINKS), "reply_to", "add_to_parent", "chain")
"""Options of a container that do not go to its tasks."""


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are not None: that counts as not given."""
    return {name: value for name, value in options.items() if value is not None}


def without(options: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the options of other names."""
    return {name: value for name, value in options.items() if name not in names}
