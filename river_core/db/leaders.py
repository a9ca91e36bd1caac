"""Statements for `river_leader`: one row, the term of the client that leads (River: leadership)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from river_core.db.statement import Sql, Statement


@dataclass(frozen=True, slots=True)
class Term:
    """One election won. `elected_at` is the database's own time, as the text that its statements take."""

    leader_id: str
    elected_at: str


def decode_term(leader_id: str, elected_at: datetime | str) -> Term:
    """Return the term that a bid of `leader_id` won, from the column that the bid returned."""
    return Term(leader_id, elected_at.isoformat() if isinstance(elected_at, datetime) else elected_at)


def leader_delete_expired(sql: Sql, now: datetime | None = None) -> Statement:
    """Remove a term that has run out. `now` None is the database's."""
    return sql.statement("leader_delete_expired", now=sql.time(now))


def leader_attempt_elect(sql: Sql, leader_id: str, ttl: float, now: datetime | None = None) -> Statement:
    """Bid for a term of `ttl` seconds; returns `elected_at` when won (River: LeaderAttemptElect)."""
    return sql.statement("leader_attempt_elect", leader_id=leader_id, ttl=ttl, now=sql.time(now))


def leader_attempt_reelect(
    sql: Sql, term: Term, ttl: float, patience: float, now: datetime | None = None
) -> Statement:
    """Prolong `term` to `ttl` seconds from now; a row comes back if it held (River: LeaderAttemptReelect).

    On Postgres it fails when the row stays locked for `patience` seconds.
    """
    return sql.statement(
        "leader_attempt_reelect",
        leader_id=term.leader_id,
        elected_at=term.elected_at,
        ttl=ttl,
        milliseconds=max(int(patience * 1000), 1),
        now=sql.time(now),
    )


def leader_resign(sql: Sql, term: Term) -> Statement:
    """End `term`; returns a row when it had not ended (River: LeaderResign)."""
    return sql.statement("leader_resign", leader_id=term.leader_id, elected_at=term.elected_at)


def leader_get_elected(sql: Sql, now: datetime | None = None) -> Statement:
    """Read who leads: leader_id, elected_at and expires_at, or no row (River: LeaderGetElectedLeader)."""
    return sql.statement("leader_get_elected", now=sql.time(now))
