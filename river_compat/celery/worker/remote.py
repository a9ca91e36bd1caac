"""The part of a worker that hears commands, answers them, and keeps to what was revoked or limited."""

from __future__ import annotations

import json
import logging
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from river_compat import codec
from river_compat.celery.app.inspecting import is_meant
from river_compat.celery.app.mailbox import answer
from river_compat.celery.durable_commands import keep_limits, with_limits
from river_compat.celery.remote_names import LIMITS, REVOKED, TOPIC, requests
from river_compat.celery.worker.admission import Admission
from river_compat.celery.worker.announcing import Announcing
from river_compat.celery.worker.control import Panel
from river_compat.celery.worker.state import WorkerState
from river_core import Admitted, Companion, JobRow, QueueConfig, Worker
from river_core.cancelling import list_terminated
from river_core.errors import RiverError
from river_core.notifier import Payload
from river_core.standing import StandingRows

POLL_SECONDS = 0.5
"""How often a worker that hears nothing looks for requests."""
LOOK_SECONDS = 2.0
"""How often it looks for rows that are to be ended by a signal."""
READ_SECONDS = 30.0
CLEAN_SECONDS = 60.0

logger = logging.getLogger("celery.worker.control")


@dataclass(slots=True)
class ControlState:
    """What a command is called with."""

    app: Any
    hostname: str
    worker: Worker
    facts: WorkerState
    remote: RemoteControl
    pool: str
    key: str
    is_for_all: bool

    @property
    def is_first(self) -> bool:
        """Whether this worker is the one that answers for all where one answer is enough."""
        rows = StandingRows(self.worker.driver)
        name = f"first:{self.key}"
        return rows.change(name, lambda value, _: value or self.hostname, CLEAN_SECONDS) == self.hostname

    def change_limits(self, task_name: str, **limits: Any) -> None:
        """Let other limits hold for a task from now on, those for all workers in later ones, too."""
        if self.is_for_all:
            keep_limits(self.app, task_name, limits)
        known = self.facts.limits
        self.facts.limits = {**known, task_name: with_limits(known.get(task_name, {}), limits)}

    def queue_config(self) -> QueueConfig:
        """Return how one more queue is worked: as the others."""
        return next((item.config for item in self.worker.queue_states()), QueueConfig(1))


class RemoteControl(Companion):
    """Runs beside one worker of an application."""

    def __init__(
        self,
        app: Any,
        hostname: str,
        pool: str,
        shut_down: Callable[[], None],
        announcing: Announcing | None = None,
    ) -> None:
        """Answer under a name; `shut_down` stops the worker, `announcing` tells of claimed rows."""
        super().__init__("river-remote-control")
        self._app = app
        self.hostname = hostname
        self.facts = WorkerState()
        self.shut_down = shut_down
        self._pool = pool
        self._driver = app.runtime.driver
        self._standing = StandingRows(self._driver)
        self._admission = Admission(app, self.facts, self._driver, announcing)
        self._enabled = bool(app.conf.worker_enable_remote_control)
        self._namespace = str(app.conf.get("control_exchange", "celery"))
        self._prefix = requests(self._namespace)
        self._asked: deque[str] = deque()
        self._seen: dict[str, float] = {}
        self._next_read = self._next_look = self._next_clean = 0.0

    # -- what the worker asks of it

    def topics(self) -> Mapping[str, Callable[[Payload], None]]:
        """Hear commands and revokes."""
        return {TOPIC: self._heard}

    def before_claims(self) -> None:
        """Know what was revoked and limited before anything is claimed."""
        for request in self._standing.find(self._prefix):
            self._seen[request.key] = time.monotonic()  # asked before this worker was here
        self._read()

    def look_again(self) -> None:
        """Read everything at the next turn, which comes at once."""
        self._next_read = self._next_look = 0.0
        self.wake()

    def admit(self, rows: Sequence[JobRow]) -> Admitted:
        """Decide which claimed rows run now."""
        return self._admission.admit(rows)

    def release(self, task_name: str, is_first: bool) -> None:
        """Let what waits for its turn under a rate that has changed ask anew."""
        self._admission.release(task_name, is_first)

    def _heard(self, payload: Payload) -> None:
        """Take revoked ids at once: the notification of rows that come after them is behind this one."""
        if "revoked" in payload:
            ids = payload["revoked"]
            if isinstance(ids, list):
                self.facts.revoke(str(item) for item in ids)
            self._next_look = 0.0
            self._next_read = 0.0 if ids is None else self._next_read
        key = payload.get("request")
        if isinstance(key, str) and key.startswith(self._prefix) and self._enabled:
            self._asked.append(key)
        self.wake()

    # -- the thread

    def run_once(self) -> float:
        """Answer, and look at what no notification may have told of."""
        now = time.monotonic()
        polls = self.worker is None or self.worker.config.poll_only
        if now >= self._next_read:
            self._next_read = now + (POLL_SECONDS if polls else READ_SECONDS)
            self._read()
            self._asked.extend(self._missed())
        while self._asked:
            self._answer(self._asked.popleft())
        if now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            self.end_terminated()
        if now >= self._next_clean:
            self._next_clean = now + CLEAN_SECONDS
            self._standing.delete_expired()
        return POLL_SECONDS if polls else LOOK_SECONDS

    def _read(self) -> None:
        """Read revoked ids and limits."""
        self.facts.revoke(row.key.removeprefix(REVOKED) for row in self._standing.find(REVOKED))
        limits = {row.key.removeprefix(LIMITS): json.loads(row.value) for row in self._standing.find(LIMITS)}
        self.facts.limits = {**self.facts.limits, **limits}

    def _missed(self) -> list[str]:
        """Return the requests that were not heard of."""
        if not self._enabled:
            return []
        keys = [row.key for row in self._standing.find(self._prefix)]
        self._seen = {key: at for key, at in self._seen.items() if key in keys}
        return [key for key in keys if key not in self._seen and key not in self._asked]

    def end_terminated(self) -> None:
        """End the runs here whose rows ask for it, each by its signal; no other run is hit."""
        worker = self.worker
        here = worker.jobs_here() if worker is not None else []
        if worker is None or not here:
            return
        for row_id, attempt, name in list_terminated(self._driver, [item.row.id for item in here]):
            number = getattr(signal, name, signal.SIGTERM)
            if worker.terminate_job(row_id, attempt, number):
                logger.info("job %d is ended by %s", row_id, name)

    def aside(self, action: Callable[[], Any]) -> None:
        """Do what may take long in a thread of its own; what it raises is logged."""

        def run() -> None:
            try:
                action()
            except RiverError:
                logger.exception("a command failed")

        threading.Thread(target=run, name="river-command", daemon=True).start()

    # -- one request

    def _answer(self, key: str) -> None:
        if key in self._seen:
            return
        self._seen[key] = time.monotonic()
        row = self._standing.get(key)
        if row is None:
            return
        request: dict[str, Any] = codec.decode(row.value, codec.JSON_TYPE, "utf-8", codec.ACCEPT_JSON)
        if not is_meant(request, self.hostname):
            return
        self.facts.tick()
        reply = self._carry_out(request, key)
        if request.get("reply") and reply is not None:
            answer(self._driver, self._namespace, request["ticket"], self.hostname, reply)

    def _carry_out(self, request: Mapping[str, Any], key: str) -> Any:
        name = request["method"]
        command = Panel.data.get(name)
        if command is None:
            logger.error("there is no control command %r", name)
            return {"error": f"no such command: {name!r}"}
        try:
            state = self._state(key, not (request.get("destination") or request.get("pattern")))
            return command(state, **request["arguments"])
        except Exception as error:
            logger.exception("the control command %s failed", name)
            return {"error": repr(error)}

    def _state(self, key: str, is_for_all: bool) -> ControlState:
        assert self.worker is not None  # noqa: S101 - it is set before the thread starts
        app, worker = self._app, self.worker
        return ControlState(app, self.hostname, worker, self.facts, self, self._pool, key, is_for_all)
