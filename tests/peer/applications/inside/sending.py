"""Sends every task of the application, one after the other, and writes how each ended.

    python -m tests.peer.applications.inside.sending CALLS.json OUTCOMES.json

A task's turn ends when it and everything that it sent have ended, but for what is to run later. Calls that
ask for another try are revoked: what is compared is the first.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.peer.applications.inside.application import app
from tests.peer.applications.inside.recording import shown

RECORD = Path(os.environ["PEER_RECORD"])
DEADLINE = 60.0  # seconds for a task
SETTLE = 15.0  # seconds for what it has sent
STORED = 5.0  # seconds for the result of a task that has ended
LOOK_EVERY = 0.02


class Events:
    """What the record holds so far."""

    def __init__(self) -> None:
        self.sent: dict[str, str] = {}
        self.ended: dict[str, dict[str, Any]] = {}
        self._read = 0

    def look(self) -> None:
        """Read what was added; of a call that ran again only the first end counts."""
        with RECORD.open("rb") as file:
            file.seek(self._read)
            lines = file.read()
        whole = lines[: lines.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            event = json.loads(line)
            if event["kind"] == "ended":
                self.ended.setdefault(event["id"], event)
            elif not event["later"]:
                self.sent[event["id"]] = event["name"]

    def wait(self, reached: Callable[[], bool], seconds: float) -> bool:
        """Look until it is so; False when it takes too long."""
        deadline = time.monotonic() + seconds
        while True:
            self.look()
            if reached():
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(LOOK_EVERY)


def call(events: Events, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Send one task and return what became of it."""
    task = app.tasks[name]
    try:
        handle = task.apply_async(kwargs=arguments)
    except Exception as error:  # noqa: BLE001 (an outcome like any other)
        return {"state": "NOT SENT", "value": f"{type(error).__name__}: {error}"}
    if not events.wait(lambda: handle.id in events.ended, DEADLINE):
        return {"state": "NOT RUN", "value": "", "waiting": _give_up(events)}
    settled = events.wait(lambda: events.sent.keys() <= events.ended.keys(), SETTLE)
    outcome = events.ended[handle.id]
    _revoke_later(events)
    return {
        "state": outcome["state"],
        "value": outcome["value"],
        "stored": _stored(handle, outcome["state"], ignored=bool(task.ignore_result)),
        "sent": sorted(
            [each["name"], each["state"], each["value"]]
            for each in events.ended.values()
            if each["root"] == handle.id and each["id"] != handle.id
        ),
        "waiting": [] if settled else _give_up(events),
    }


def _give_up(events: Events) -> list[str]:
    """Return the names of calls that were sent and have not ended, and wait for them no more."""
    open_calls = {key: name for key, name in events.sent.items() if key not in events.ended}
    for key in open_calls:
        events.ended[key] = {"id": key, "root": "", "name": "", "state": "", "value": ""}
    return sorted(open_calls.values())


def _revoke_later(events: Events) -> None:
    for event in events.ended.values():
        if event["state"] == "RETRY" and not event.get("revoked"):
            app.control.revoke(event["id"])
            event["revoked"] = True


def _stored(handle: Any, state: str, *, ignored: bool) -> list[str]:
    """Return state and result as callers read them, which are stored a moment after the task has ended."""
    if ignored or state not in {"SUCCESS", "FAILURE"}:
        return []
    deadline = time.monotonic() + STORED
    while not handle.ready() and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)
    return [handle.state, shown(handle.result, handle.state)]


def main() -> None:
    """Send the calls of the first file; write the outcomes to the second."""
    source, target = map(Path, sys.argv[1:])
    RECORD.touch()
    events = Events()
    outcomes = {}
    for name, arguments in json.loads(source.read_text("utf-8")).items():
        outcomes[name] = call(events, name, arguments)
        sys.stdout.write(f"{outcomes[name]['state']:9} {name}\n")
        sys.stdout.flush()
    target.write_text(json.dumps(outcomes, indent=1), "utf-8")


if __name__ == "__main__":
    main()
