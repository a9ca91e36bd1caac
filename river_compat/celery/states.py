"""Names of task states and how they rank, as `celery.states` has them."""

from __future__ import annotations

PENDING = "PENDING"
RECEIVED = "RECEIVED"
STARTED = "STARTED"
SUCCESS = "SUCCESS"
FAILURE = "FAILURE"
REVOKED = "REVOKED"
REJECTED = "REJECTED"
RETRY = "RETRY"
IGNORED = "IGNORED"

READY_STATES = frozenset({SUCCESS, FAILURE, REVOKED})
UNREADY_STATES = frozenset({PENDING, RECEIVED, STARTED, REJECTED, RETRY})
EXCEPTION_STATES = frozenset({RETRY, FAILURE, REVOKED})
PROPAGATE_STATES = frozenset({FAILURE, REVOKED})
ALL_STATES = frozenset({PENDING, RECEIVED, STARTED, SUCCESS, FAILURE, RETRY, REVOKED})

# The highest first; None is the place of every state that is not named here.
PRECEDENCE = [SUCCESS, FAILURE, None, REVOKED, STARTED, RECEIVED, REJECTED, RETRY, PENDING]
PRECEDENCE_LOOKUP = {name: position for position, name in enumerate(PRECEDENCE)}
NONE_PRECEDENCE = PRECEDENCE_LOOKUP[None]


def precedence(state: str | None) -> int:
    """Return the rank of a state; 0 is the highest, custom states rank below FAILURE."""
    return PRECEDENCE_LOOKUP.get(state, NONE_PRECEDENCE)


class state(str):  # noqa: N801 - the name applications import
    """A state that compares by rank: `state("STARTED") > "PENDING"`."""

    __slots__ = ()

    def __gt__(self, other: str) -> bool:
        """Whether this state outranks the other."""
        return precedence(self) < precedence(other)

    def __ge__(self, other: str) -> bool:
        """Whether this state is not outranked by the other."""
        return precedence(self) <= precedence(other)

    def __lt__(self, other: str) -> bool:
        """Whether the other state outranks this one."""
        return precedence(self) > precedence(other)

    def __le__(self, other: str) -> bool:
        """Whether this state does not outrank the other."""
        return precedence(self) >= precedence(other)
