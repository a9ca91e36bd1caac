"""A worker process for these tests: it obeys the same commands as the Go peer and keeps the same ledger."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from river_core import EncodedArgs, InsertManyParams, InsertOpts, Registry, Worker, WorkerConfig, open_driver
from river_core.clock import SystemClock
from river_core.errors import JobCancelError, JobSnoozeError, RiverError
from river_core.job import JobRow
from river_core.task import Job, Task

Answer = dict[str, Any]


class Ledger:
    """A file that several processes append whole lines to."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
        self.worker: Worker | None = None

    def write(self, event: str, job: Job) -> None:
        """Append one line with one call, so that no other process writes in between."""
        assert self.worker is not None
        line = {"event": event, "client": self.worker.id, "id": job.row.id, "attempt": job.row.attempt}
        os.write(self._file, json.dumps(line).encode() + b"\n")


class Noted(Task):
    """A task that runs again at once after an error."""

    def __init__(self, kind: str, ledger: Ledger) -> None:
        self.kind = kind
        self.ledger = ledger

    def next_retry(self, job: JobRow, error: BaseException) -> datetime | None:
        """Now."""
        return SystemClock().now()


class Work(Noted):
    """Ends its first attempt as it is told: ok, error, snooze or cancel; the second is always ok."""

    def work(self, job: Job) -> None:
        """Note the begin, and end."""
        self.ledger.write("began", job)
        how = job.args["how"]
        if how == "error" and job.row.attempt == 1:
            raise RuntimeError("asked to fail")
        if how == "snooze" and "snoozes" not in job.row.metadata:
            raise JobSnoozeError(0)
        if how == "cancel":
            raise JobCancelError("asked to cancel")


class Hold(Noted):
    """Runs until it is stopped, or until the file `release` exists."""

    def work(self, job: Job) -> None:
        """Look every few milliseconds; the stop may come as an exception at any point."""
        self.ledger.write("began", job)
        release = Path(job.args["release"])
        event = "stopped"
        try:
            while not release.exists():
                if job.wait_stopped(0.1) and job.stop_cause is not None:
                    raise job.stop_cause
            event = "ended"
        finally:
            self.ledger.write(event, job)


def build(options: argparse.Namespace) -> Worker:
    """Return the worker that the command line asks for."""
    ledger = Ledger(options.ledger)
    registry = Registry().add(Work("interop_work", ledger)).add(Hold("interop_hold", ledger))
    registry.add(Hold("interop_python", ledger))
    config = WorkerConfig(
        queues={name: int(size) for name, _, size in (item.partition("=") for item in options.queues)},
        id=options.id,
        job_timeout=options.job_timeout,
        rescue_stuck_jobs_after=options.rescue_after,
        refresh_attempts_after=options.refresh_after,
        leader_election_disabled=options.never_leads,
        poll_only=options.poll_only,
    )
    ledger.worker = Worker(open_driver(options.url), registry, config)
    return ledger.worker


def insert(worker: Worker, given: Mapping[str, Any]) -> Answer:
    """Insert one job for each arguments object."""
    opts = InsertOpts(queue=given["queue"])
    rows = [InsertManyParams(EncodedArgs(given["kind"], json.dumps(args)), opts) for args in given["args"]]
    return {"ids": [result.job.id for result in worker.client.insert_many(rows)]}


def nothing(act: Callable[[], object]) -> Answer:
    """Act; there is nothing to say of it."""
    act()
    return {}


COMMANDS: dict[str, Callable[[Worker, Mapping[str, Any]], Answer]] = {
    "insert": insert,
    "cancel": lambda worker, given: {"state": worker.client.job_cancel(given["id"]).state.value},
    "retry": lambda worker, given: {"state": worker.client.job_retry(given["id"]).state.value},
    "pause": lambda worker, given: nothing(lambda: worker.client.queue_pause(given["queue"])),
    "resume": lambda worker, given: nothing(lambda: worker.client.queue_resume(given["queue"])),
    "resign": lambda worker, given: nothing(worker.client.request_resign),
    "stop": lambda worker, given: nothing(worker.stop),
}


def answer(worker: Worker, given: Mapping[str, Any]) -> Answer:
    """Carry out one command; a foreign kind in the queue, an unknown id and the like are told."""
    try:
        return {"done": given["do"], **COMMANDS[given["do"]](worker, given)}
    except RiverError as error:
        return {"done": given["do"], "error": str(error)}


def say(said: Answer) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options, with the worker's own defaults."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-url", required=True)
    parser.add_argument("-id")
    parser.add_argument("-queues", type=lambda text: text.split(","), default=["python=10"])
    parser.add_argument("-ledger", required=True)
    parser.add_argument("-job-timeout", type=float)
    parser.add_argument("-rescue-after", type=float, default=0.0)
    parser.add_argument("-refresh-after", type=float, default=0.0)
    parser.add_argument("-never-leads", action="store_true")
    parser.add_argument("-poll-only", action="store_true")
    return parser.parse_args(arguments)


def main() -> None:
    """Work until the command `stop` or the end of standard input."""
    logging.basicConfig(level=logging.INFO, format="level=%(levelname)s logger=%(name)s msg=%(message)s")
    worker = build(parse(sys.argv[1:]))
    worker.start()
    say({"done": "start", "id": worker.id})
    for line in sys.stdin:
        given = json.loads(line)
        say(answer(worker, given))
        if given["do"] == "stop":
            return
    worker.stop_and_cancel()


if __name__ == "__main__":
    main()
