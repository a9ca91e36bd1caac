"""How remote control is spelled in the database: topics, and the keys of standing rows."""

from __future__ import annotations

TOPIC = "river_python_control"
"""Workers hear on it: `{"request": KEY}`, and `{"revoked": [IDS]}`, or `{"revoked": null}` for too many."""
TOPIC_REPLY = "river_python_reply"
"""Callers hear on it: `{"ticket": TICKET}`."""
MAX_IDS_CHARACTERS = 6_000

REVOKED = "revoked:"
"""Followed by the id of a task that was revoked before anybody sent it."""
LIMITS = "limits:"
"""Followed by the name of a task whose limits were changed while workers run."""
RATE = "rate:"
"""Followed by the name of a task: when its next run may start."""
KEPT_SECONDS = 60.0


def requests(namespace: str) -> str:
    """Return how the keys of requests begin."""
    return f"control:{namespace}:request:"


def replies(namespace: str, ticket: str) -> str:
    """Return how the keys of the replies to a request begin."""
    return f"control:{namespace}:reply:{ticket}:"
