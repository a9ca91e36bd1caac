"""Processes of either language on one database, what they are told, and what they left behind."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.acceptance.commands import query

T = TypeVar("T")
Args = dict[str, Any]

DEADLINE = 60.0
LOOK = 0.02


def wait_for(look: Callable[[], T], what: str, seconds: float = DEADLINE) -> T:
    """Return the first true answer of `look`; fail, naming `what`, when none comes in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if answer := look():
            return answer
        time.sleep(LOOK)  # between two looks at a fact of another process
    raise AssertionError(f"{what} did not come in {seconds:g} s")


@dataclass
class Peer:
    """A worker process that obeys commands; `language` is `go` or `python`."""

    language: str
    process: subprocess.Popen[str]
    log: Path
    id: str = ""
    answers: queue.Queue[str] = field(default_factory=queue.Queue)

    def tell(self, do: str, **more: Any) -> dict[str, Any]:
        """Give a command and return its answer; fails when it could not be carried out."""
        self.send(do, **more)
        return self.hear(do)

    def send(self, do: str, **more: Any) -> None:
        """Give a command; `hear` waits for its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self.process.stdin.flush()

    def hear(self, do: str) -> dict[str, Any]:
        """Return the answer to a command that was sent."""
        try:
            said: dict[str, Any] = json.loads(self.answers.get(timeout=DEADLINE))
        except queue.Empty:
            raise AssertionError(
                f"the {self.language} peer did not answer {do!r}:\n{self.logged()[-3000:]}"
            ) from None
        assert said["done"] == do, said
        assert "error" not in said, said
        return said

    def insert(self, kind: str, queue_name: str, args: Iterable[Args]) -> list[int]:
        """Insert one job for each arguments object; return their ids."""
        return list(self.tell("insert", kind=kind, queue=queue_name, args=list(args))["ids"])

    def kill(self) -> None:
        """End it as a power failure does, and wait for its end."""
        self.process.kill()
        self.process.wait(DEADLINE)

    def stop(self) -> None:
        """Drain it, and wait for its clean end."""
        self.tell("stop")
        assert self.process.wait(DEADLINE) == 0, self.logged()[-3000:]

    def logged(self) -> str:
        """What it has logged so far."""
        return self.log.read_text("utf-8", errors="replace")

    def complaints(self) -> list[str]:
        """The lines of its log that are warnings or errors."""
        return [line for line in self.logged().splitlines() if "level=WARN" in line or "level=ERROR" in line]


@dataclass
class Site:
    """A migrated database, the ledger that all bodies write to, and the processes started here."""

    url: str
    folder: Path
    go_binary: str = ""

    @property
    def ledger(self) -> Path:
        """The file that says which attempt of which job began, ended or was stopped, and where."""
        return self.folder / "ledger"

    @property
    def release(self) -> Path:
        """The file whose existence ends the jobs that hold."""
        return self.folder / "release"

    @contextmanager
    def go(self, *options: str) -> Iterator[Peer]:
        """A started River client in Go; killed at the end if it still runs."""
        with self._peer("go", [self.go_binary, "-url", self.url, *options]) as peer:
            yield peer

    @contextmanager
    def python(self, *options: str) -> Iterator[Peer]:
        """A started worker of ours; killed at the end if it still runs."""
        command = [sys.executable, "-m", "tests.interop.py_peer", "-url", self.url, *options]
        with self._peer("python", command) as peer:
            yield peer

    def peer(self, language: str, *options: str) -> Any:
        """A started process of either language."""
        return self.go(*options) if language == "go" else self.python(*options)

    @contextmanager
    def _peer(self, language: str, command: Sequence[str]) -> Iterator[Peer]:
        number = len(list(self.folder.glob("*.log")))
        log = self.folder / f"{language}{number}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "-ledger", str(self.ledger)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                env=os.environ | {"TZ": "UTC"},
            )
        peer = Peer(language, process, log)
        reader = threading.Thread(target=_read, args=(process, peer.answers), daemon=True)
        reader.start()
        try:
            peer.id = peer.hear("start")["id"]
            yield peer
        finally:
            process.kill()
            process.wait()
            reader.join()
            with suppress(BrokenPipeError):
                process.stdin.close()  # type: ignore[union-attr]  # a pipe was asked for
            process.stdout.close()  # type: ignore[union-attr]

    # -- what is there

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Run one statement of plain SQL."""
        return query(self.url, sql)

    def states(self, ids: Iterable[int]) -> Counter[str]:
        """How many of the jobs are in which state."""
        found = dict(self.query("SELECT id, state FROM river_job"))
        return Counter(found.get(job_id, "gone") for job_id in ids)

    def all_in(self, ids: Sequence[int], state: str) -> bool:
        """Whether every one of the jobs is in that state."""
        return self.states(ids) == {state: len(ids)}

    def leader(self) -> str:
        """The id of the client that leads, or nothing."""
        return next((str(row[0]) for row in self.query("SELECT leader_id FROM river_leader")), "")

    def wait_leader(self, peer: Peer) -> None:
        """Wait until this peer leads."""
        wait_for(lambda: self.leader() == peer.id, f"leadership of {peer.language}")

    def entries(self, event: str = "began") -> list[dict[str, Any]]:
        """The ledger's lines of one event, in order."""
        if not self.ledger.exists():
            return []
        lines = self.ledger.read_text("utf-8").splitlines()
        return [entry for entry in map(json.loads, lines) if entry["event"] == event]

    def begun(self, peer: Peer | None = None) -> Counter[int]:
        """How often the body of each job began, by job id; of one peer or of all."""
        return Counter(entry["id"] for entry in self.entries() if peer is None or entry["client"] == peer.id)


def _read(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        answers.put(line)
