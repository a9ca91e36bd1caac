"""The sign by which other clients see that this one lives, and what it does without it.

On Postgres it is an advisory lock of the listening session, so it ends with the process, the machine
or the network; on SQLite it is a locked file. A client that could not prove for 8 seconds that it holds
its lock must neither claim nor work on: others take its rows over once they have seen the lock free for
10 seconds (`river_core.worker.recovery`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol, cast

from river_core.db import liveness
from river_core.db.statement import Dialect, Statement
from river_core.drivers.base import Driver, Listener, Row
from river_core.errors import OperationalError
from river_core.notifier import Notifier
from river_core.service import Service
from river_core.worker.identity import LOCKED
from river_core.worker.lock_file import LockFile, database_file, lock_path

TRUST_SECONDS = 8.0
LOOK_SECONDS = 1.0
GAP_SECONDS = 3.0

logger = logging.getLogger(__name__)


class Session(Protocol):
    """A connection whose session stays the same: the notifier's on Postgres."""

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement on the session."""
        ...


class LivenessLock(Service):
    """Holds the lock of one client, and knows whether it may still count on it.

    Start it before the first claim and stop it after the last outcome is written. On Postgres
    `attach` it to the notifier before that starts.
    """

    def __init__(
        self,
        driver: Driver,
        client_id: str,
        on_lost: Callable[[], object],
        *,
        trust: float = TRUST_SECONDS,
        look: float = LOOK_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Hold the lock of `client_id`, unless its marker says that it has none.

        `on_lost` is called once each time the lock could not be proved for `trust` seconds: it must
        interrupt all running work.
        """
        super().__init__("river-liveness")
        self._driver = driver
        self._client_id = client_id
        self._on_lost = on_lost
        self._trust = trust
        self._look = look
        self._monotonic = monotonic
        self._needed = client_id.endswith(LOCKED)
        self._file: LockFile | None = None
        self._session_pid: int | None = None
        self.proved_at = monotonic()
        """When, by the monotonic clock, the lock was last proved."""
        self._looked_at = monotonic()
        self._lost = False
        self._nudge: Callable[[], None] | None = None

    @property
    def trusted(self) -> bool:
        """Whether the client may claim: it proved within the last 8 seconds that it holds its lock."""
        return not self._needed or self._monotonic() - self.proved_at <= self._trust

    def attach(self, notifier: Notifier) -> None:
        """Take the lock on each session of the notifier, and prove it whenever that has nothing to do."""
        if self._needed and self._driver.sql.dialect is Dialect.POSTGRES:
            notifier.on_connect.append(self._hold_on)
            notifier.on_idle.append(self._prove_on)
            self._nudge = notifier.wake

    def start(self) -> None:
        """Lock the file of a SQLite database, then watch; raises OperationalError when that fails."""
        if self._needed and self._driver.sql.dialect is Dialect.SQLITE and not self.alive:
            self._file = _locked_file(self._driver, self._client_id)
        self.proved_at = self._looked_at = self._monotonic()
        super().start()

    def run_once(self) -> float:
        """Prove the lock where that is done here, and report its loss."""
        if self._file is not None:
            self._prove_file(self._file)
        now = self._monotonic()
        slept, self._looked_at = now - self._looked_at > GAP_SECONDS, now
        if self.trusted:
            if self._lost:
                logger.warning("client %s holds its liveness lock again", self._client_id)
            self._lost = False
        elif slept and self._nudge is not None:
            self._nudge()  # the process was suspended, perhaps with its session: look again first
        elif not self._lost:
            self._lost = True
            logger.error(
                "client %s could not prove for %g s that it holds its liveness lock; "
                "others may take its jobs over",
                self._client_id,
                self._trust,
            )
            self._on_lost()
        return self._look

    def on_stop(self) -> None:
        """Free the file; the notifier's end frees a session's lock."""
        if self._file is not None:
            self._file.release()
            self._file = None

    # -- in the notifier's thread

    def _hold_on(self, listener: Listener) -> None:
        started = self._monotonic()
        statement = liveness.client_lock_hold(self._driver.sql, self._client_id)
        self._session_pid = cast(Session, listener).fetch(statement)[0][0]
        if started - self.proved_at > self._trust and not self._lost:
            # The process slept, and its session ended meanwhile: others may have taken the rows over.
            logger.error(
                "client %s was without its liveness lock; others may have taken its jobs over",
                self._client_id,
            )
            self._on_lost()
        self.proved_at = started

    def _prove_on(self, listener: Listener) -> None:
        started = self._monotonic()
        statement = liveness.client_lock_session(self._driver.sql)
        if cast(Session, listener).fetch(statement)[0][0] == self._session_pid:
            self.proved_at = started
        else:
            raise OperationalError("the listening session was exchanged: use poll_only behind a pooler")

    # -- SQLite

    def _prove_file(self, file: LockFile) -> None:
        started = self._monotonic()
        try:
            file.hold()
            self.proved_at = started
        except OperationalError as error:
            logger.warning("%s", error)


def lockable(driver: Driver, poll_only: bool) -> bool:
    """Tell whether a client of this database can hold a lock: not without a session, nor in memory."""
    if driver.sql.dialect is Dialect.POSTGRES:
        return not poll_only
    return database_file(driver) != ""


def _locked_file(driver: Driver, client_id: str) -> LockFile:
    database = database_file(driver)
    if not database:
        raise OperationalError("a database in memory has no lock file: use the id of a poll-only client")
    file = LockFile(lock_path(database, client_id))
    file.hold()
    return file
