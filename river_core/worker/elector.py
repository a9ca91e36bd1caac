"""Leadership: of all clients of one schema at most one runs the maintenance services (River: Elector).

A term is a client id and the time at which the database let it begin. The leader renews its term every
5 seconds and trusts it, without hearing from the database, until one second before it runs out. A
follower bids every 5 to 6 seconds, and at once when a leader says that it resigned.

    follower --bid won--> leader --renewal found no term--------------------> follower
                                 --stop, request_resign, trust used up------> follower, term deleted
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from river_core.clock import Clock
from river_core.db import leaders, notifications
from river_core.db.leaders import Term
from river_core.db.maintenance import limit_time
from river_core.db.notifications import TOPIC_LEADERSHIP
from river_core.db.statement import Statement
from river_core.drivers.base import Driver, Row
from river_core.errors import DatabaseError
from river_core.notifier import Notifier, Payload
from river_core.service import Service

ACTION_RESIGNED = "resigned"
ACTION_REQUEST_RESIGN = "request_resign"
RESIGN_TRIES = (1.0, 2.0, 3.0)
START_TRIES = 3

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ElectionTiming:
    """How often and for how long, in seconds; the defaults are River's."""

    interval: float = 5.0
    ttl: float = 15.0
    safety: float = 1.0
    bid_jitter: float = 1.0
    resigned_jitter: float = 0.05
    statement: float = 5.0


class Elector(Service):
    """Bids for leadership, renews it, and gives it up at the start of its stop."""

    max_error_delay = 0.0  # it spaces its failed bids itself

    def __init__(
        self,
        driver: Driver,
        client_id: str,
        notifier: Notifier | None,
        on_elected: Callable[[], object],
        on_lost: Callable[[], object],
        *,
        timing: ElectionTiming = ElectionTiming(),
        clock: Clock | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Stand for election as `client_id`; without a notifier leaders are only found by bidding.

        `on_elected` and `on_lost` are called in the elector's thread. `clock` None leaves the time of
        terms to the database.
        """
        super().__init__("river-elector")
        self._driver = driver
        self._client_id = client_id
        self._notifier = notifier
        self._on_elected = on_elected
        self._on_lost = on_lost
        self._timing = timing
        self._clock = clock
        self._monotonic = monotonic
        self._term: Term | None = None
        self._trusted_until = 0.0
        self._no_bid_before = 0.0
        self._failures = 0
        self._resigned_heard = False
        self._resign_requested = False
        self._unsubscribe: Callable[[], None] | None = None

    @property
    def leading(self) -> bool:
        """Whether this client leads and may trust that it does."""
        return self._term is not None and self._monotonic() < self._trusted_until

    def on_start(self) -> None:
        """Listen for other clients' resignations and for requests to resign."""
        if self._notifier is not None:
            self._unsubscribe = self._notifier.subscribe(TOPIC_LEADERSHIP, self.hear)

    def on_stop(self) -> None:
        """Give up the term, if any."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        if self._term is not None:
            self._step_down(resign=True)

    def hear(self, payload: Payload) -> None:
        """Take one message of the leadership topic; what is not for us is ignored."""
        action, leader_id = payload.get("action"), payload.get("leader_id")
        if action == ACTION_RESIGNED and leader_id != self._client_id:
            self._resigned_heard = True
            self._resign_requested = False  # whoever resigned was the leader that was asked
        elif action == ACTION_REQUEST_RESIGN:
            self._resign_requested = True
        else:
            return
        self.wake()

    def run_once(self) -> float:
        """Bid, renew or step down; return the seconds until the next look."""
        if self._term is None:
            self._resign_requested = False
            return self._follow()
        if self._resign_requested and self._is_meant():
            self._step_down(resign=True)
            self._no_bid_before = self._monotonic() + self._timing.interval
            return self._timing.interval
        return self._renew(self._term)

    def _is_meant(self) -> bool:
        """Tell whether a request to resign is for this leader, not for the one before.

        A request may be heard late, by a client that the resignation has made the leader: then word of that
        resignation follows at once.
        """
        self.pause(self._timing.resigned_jitter)
        meant, self._resign_requested = self._resign_requested, False
        return meant

    # -- follower

    def _follow(self) -> float:
        resigned, self._resigned_heard = self._resigned_heard, False
        rest = self._no_bid_before - self._monotonic()
        if rest > 0:
            return rest
        if resigned:
            self.pause(_uniform(0, self._timing.resigned_jitter))
        return self._bid()

    def _bid(self) -> float:
        started = self._monotonic()
        try:
            term = self._attempt_elect()
        except DatabaseError:
            self.error_delay = 2.0 ** min(self._failures, 6) * _uniform(0.9, 1.1)
            self._failures += 1
            raise
        self._failures = 0
        if term is None:
            return self._timing.interval + _uniform(0, self._timing.bid_jitter)
        self._term = term
        self._trust_from(started)
        logger.info("client %s leads", self._client_id)
        if not self._start_services():
            self._step_down(resign=True)
            self._no_bid_before = self._monotonic() + self._timing.interval
        return self._timing.interval

    def _attempt_elect(self) -> Term | None:
        sql, now = self._driver.sql, self._now()
        bid = leaders.leader_attempt_elect(sql, self._client_id, self._timing.ttl, now)
        rows = self._run(self._timing.statement, leaders.leader_delete_expired(sql, now), bid)
        return leaders.decode_term(self._client_id, rows[0][0]) if rows else None

    def _start_services(self) -> bool:
        for attempt in range(START_TRIES):
            try:
                self._on_elected()
                return True
            except Exception:
                logger.exception("the maintenance services did not start (try %d)", attempt + 1)
                self._call_on_lost()
            if attempt + 1 < START_TRIES and self.pause(2.0**attempt):
                break
        return False

    # -- leader

    def _renew(self, term: Term) -> float:
        started = self._monotonic()
        left = self._trusted_until - started
        if left <= 0:
            logger.warning("client %s cannot renew its leadership and gives it up", self._client_id)
            self._step_down(resign=True)
            return self._timing.interval
        patience = min(self._timing.statement, left)
        sql, ttl = self._driver.sql, self._timing.ttl
        try:
            with self._driver.connect() as connection:
                rows = connection.fetch(leaders.leader_attempt_reelect(sql, term, ttl, patience, self._now()))
        except DatabaseError as error:
            return self._renew_again_in(error)
        self._failures = 0
        if not rows:
            logger.warning("client %s lost its leadership", self._client_id)
            self._step_down(resign=False)
            return _uniform(0, self._timing.bid_jitter)
        self._trust_from(started)
        return self._timing.interval

    def _renew_again_in(self, error: DatabaseError) -> float:
        delay = 2.0 ** (self._failures % 3) * _uniform(0.9, 1.1)
        self._failures += 1
        logger.warning("renewing the leadership failed, next try in %.1f s: %s", delay, error)
        return max(0.0, min(delay, self._trusted_until - self._monotonic()))

    def _trust_from(self, started: float) -> None:
        self._trusted_until = started + self._timing.ttl - self._timing.safety

    # -- giving up

    def _step_down(self, resign: bool) -> None:
        term, self._term = self._term, None
        self._failures = 0
        self._call_on_lost()
        if resign and term is not None:
            self._resign(term)

    def _call_on_lost(self) -> None:
        try:
            self._on_lost()
        except Exception:
            logger.exception("the maintenance services did not stop")

    def _resign(self, term: Term) -> None:
        for seconds in RESIGN_TRIES:
            try:
                self._delete_term(term, seconds)
                return
            except DatabaseError as error:
                logger.warning("resigning the leadership failed: %s", error)

    def _delete_term(self, term: Term, seconds: float) -> None:
        sql = self._driver.sql
        payload = notifications.resigned_payload(term.leader_id)
        with self._driver.connect() as connection, connection.transaction():
            connection.fetch(limit_time(sql, seconds))
            if connection.fetch(leaders.leader_resign(sql, term)):
                connection.fetch(notifications.notify_many(sql, TOPIC_LEADERSHIP, [payload]))
                logger.info("client %s resigned its leadership", term.leader_id)

    # -- database

    def _run(self, seconds: float, *statements: Statement) -> list[Row]:
        """Run statements in one transaction with a limit for each; return the last one's rows."""
        rows: list[Row] = []
        with self._driver.connect() as connection, connection.transaction():
            connection.fetch(limit_time(self._driver.sql, seconds))
            for statement in statements:
                rows = connection.fetch(statement)
        return rows

    def _now(self) -> datetime | None:
        return self._clock.now() if self._clock is not None else None


def _uniform(low: float, high: float) -> float:
    return random.uniform(low, high)  # noqa: S311 - jitter, no secret
