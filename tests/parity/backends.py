"""The three ways in which the cases are run, and the one difference between their sources."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).parent / "program"
CASES = sorted(path.stem for path in (PROGRAM / "cases").glob("[a-z]*.py"))
QUEUES = "celery,parity-other"
OURS = "river_compat.celery"
_IMPORT = re.compile(r"^(\s*)(from|import) celery\b(?= import |\.|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Backend:
    """Where the copy of the program sends its tasks, and who works them."""

    name: str
    broker: str
    own_broker: str
    unreachable: str
    is_reference: bool

    @property
    def worker_command(self) -> list[str]:
        """The real command of real Celery, or ours, with the pool that is the default of both."""
        if self.is_reference:
            quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
            command = ["-m", "celery", "-A", "program.app", "worker", *quiet]
        else:
            command = ["-m", "river_compat", "-A", "program.app", "worker"]
        return [sys.executable, *command, "-P", "prefork", "-c", "4", "-Q", QUEUES]

    def environment(self, directory: Path) -> dict[str, str]:
        """What the program reads: brokers, result backends, and where tasks leave notes."""
        variables = {
            "PARITY_BROKER": self.broker,
            "PARITY_OWN_BROKER": self.own_broker,
            "PARITY_UNREACHABLE": self.unreachable,
            "PARITY_NOTES": str(directory / "notes"),
        }
        if self.is_reference:
            variables |= {"PARITY_BACKEND": self.broker, "PARITY_OWN_BACKEND": self.own_broker}
        return variables

    def copy_program(self, directory: Path) -> None:
        """Copy the program there; for ours only the import lines change."""
        shutil.copytree(PROGRAM, directory / "program", ignore=shutil.ignore_patterns("__pycache__"))
        (directory / "notes").mkdir()
        if self.is_reference:
            return
        for path in (directory / "program").rglob("*.py"):
            path.write_text(change_imports(path.read_text("utf-8")), "utf-8")


def reference(redis_url: str, own_redis_url: str) -> Backend:
    """Real Celery, with broker and results on Redis; the second database is for processes of cases."""
    return Backend("celery", redis_url, own_redis_url, "redis://127.0.0.1:9/0", is_reference=True)


def ours(name: str, url: str, own_url: str, unreachable: str) -> Backend:
    """`river_compat.celery` on one database, and a second one for processes of cases."""
    return Backend(name, url, own_url, unreachable, is_reference=False)


def change_imports(source: str) -> str:
    """Rewrite the import lines of a case, and nothing else, to import from `river_compat.celery`."""
    return _IMPORT.sub(rf"\1\2 {OURS}", source)
