"""SQLAlchemy's sessions: watched for the transactions that they begin, and called back at their commit.

`watch` is for applications: inserts then join an open session's transaction without a `with` block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, SessionTransaction, scoped_session

from river_core import ambient
from river_core.drivers.base import type_name
from river_core.errors import AmbientTransactionError

_WATCHED = "river_core_watched"
_DEFERRED = "river_core_deferred"


def watch(sessions: Any) -> None:
    """Let inserts join the transaction of any of these sessions, from its begin to its end.

    Takes a sessionmaker or async_sessionmaker, a Session class (`Session` itself means all), a
    scoped_session or one session; harmless twice. The insert joins in the thread and asyncio task that
    began the transaction. Where several are open, it joins the newest one on River's database; where
    none is on it, the row is inserted after the newest one's commit, with one warning in the log.
    """
    target = _event_target(sessions)
    # event.contains() goes by id() and takes a new object for a dead one; what listens here may run twice
    event.listen(target, "after_transaction_create", _begun)
    event.listen(target, "after_transaction_end", _ended)


def _event_target(sessions: Any) -> Any:
    if isinstance(sessions, async_sessionmaker):
        plain: type[Session] = sessions.kw.get("sync_session_class") or sessions.class_.sync_session_class
        if not plain.__dict__.get(_WATCHED):
            plain = type(plain.__name__, (plain,), {_WATCHED: True})  # as sessionmaker makes one of its own
            sessions.configure(sync_session_class=plain)
        return plain
    if isinstance(sessions, type) and issubclass(sessions, AsyncSession):
        return sessions.sync_session_class
    return sessions.sync_session if isinstance(sessions, AsyncSession) else sessions


def _begun(session: Session, transaction: SessionTransaction) -> None:
    """A transaction exists from its first object on, before SQLAlchemy needs a connection for it."""
    if transaction.parent is None and _WATCHED not in session.info:
        session.info[_WATCHED] = ambient.watch(session)


def _ended(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:
        entry = session.info.pop(_WATCHED, None)
        if entry is not None:
            entry.is_open = False


def owner(raw: Any) -> SessionOwner:
    """Return what calls back around a session's commit.

    Raises AmbientTransactionError for a Connection, which tells of its commit too early.
    """
    target = raw() if isinstance(raw, scoped_session) else raw
    target = target.sync_session if isinstance(target, AsyncSession) else target
    if not isinstance(target, Session):
        raise AmbientTransactionError(
            f"{type_name(raw)} does not tell when its transaction has committed; give the Session instead, "
            "or insert in the transaction with enqueue='ambient'"
        )
    return SessionOwner(target)


Callback = Callable[[], object]


@dataclass(slots=True)
class _Deferred:
    """What is to be called at a session's commit, each with the transactions that it depends on."""

    before: list[tuple[Callback, list[SessionTransaction]]] = field(default_factory=list)
    after: list[tuple[Callback, list[SessionTransaction]]] = field(default_factory=list)
    is_committed: bool = False


class SessionOwner:
    """A session, whose events call back what was given."""

    def __init__(self, session: Session) -> None:
        """Take the sync session, also of an async one."""
        self._session = session

    def before_commit(self, callback: Callback) -> None:
        """Call back inside the transaction before it commits; not if it, or the savepoint, rolls back."""
        self._deferred().before.append((callback, _open_transactions(self._session)))

    def after_commit(self, callback: Callback) -> None:
        """Call back once the session's transaction is committed; not if it, or the savepoint, rolls back."""
        self._deferred().after.append((callback, _open_transactions(self._session)))

    def _deferred(self) -> _Deferred:
        deferred: _Deferred | None = self._session.info.get(_DEFERRED)
        if deferred is None:
            deferred = self._session.info[_DEFERRED] = _Deferred()
            for name, function in _LISTENERS.items():
                event.listen(self._session, name, function)
        return deferred


def _open_transactions(session: Session) -> list[SessionTransaction]:
    found = []
    current = session.get_nested_transaction() or session.get_transaction()
    while current is not None:
        found.append(current)
        current = current.parent
    return found


def _before_commit(session: Session) -> None:
    deferred = session.info.get(_DEFERRED)
    if deferred is None or session.get_nested_transaction() is not None:
        return
    while deferred.before:
        callback, _ = deferred.before[0]
        callback()
        del deferred.before[0]


def _after_commit(session: Session) -> None:
    deferred = session.info.get(_DEFERRED)
    if deferred is not None and session.get_nested_transaction() is None:
        deferred.is_committed = True


def _after_soft_rollback(session: Session, rolled_back: SessionTransaction) -> None:
    deferred = session.info.get(_DEFERRED)
    if deferred is not None:
        deferred.before = [item for item in deferred.before if rolled_back not in item[1]]
        deferred.after = [item for item in deferred.after if rolled_back not in item[1]]


def _after_transaction_end(session: Session, transaction: SessionTransaction) -> None:
    """Call back only now: what an `after_commit` event raises would leave the session half closed."""
    if transaction.parent is not None:
        return
    deferred = session.info.pop(_DEFERRED, None)
    if deferred is None or not deferred.is_committed:
        return
    errors = []
    for callback, _ in deferred.after:
        try:
            callback()
        except Exception as error:  # noqa: BLE001 - the others' rows are still to be written
            errors.append(error)
    if errors:
        raise errors[0]


_LISTENERS: dict[str, Callable[..., None]] = {
    "before_commit": _before_commit,
    "after_commit": _after_commit,
    "after_soft_rollback": _after_soft_rollback,
    "after_transaction_end": _after_transaction_end,
}
