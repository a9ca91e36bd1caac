"""The program of examples/native_quickstart, as its page runs it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.acceptance.commands import query, wait_for

PROGRAM = Path(__file__).parents[2] / "examples/native_quickstart/mail.py"
ROWS = "SELECT state, attempt FROM river_job"


def test_what_is_sent_is_worked_and_a_signal_drains(tmp_path: Path) -> None:
    """One process inserts, another works, on a SQLite file."""
    shutil.copy(PROGRAM, tmp_path)
    url = f"sqlite:///{tmp_path}/river.sqlite3"
    command = [sys.executable, "mail.py"]
    subprocess.run([*command, "send", "7"], cwd=tmp_path, check=True)
    assert query(url, ROWS) == [("available", 0)]
    worker = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: query(url, ROWS) == [("completed", 1)], "the worked job")
        worker.send_signal(signal.SIGTERM)
        said, _ = worker.communicate(timeout=60)
    finally:
        worker.kill()
    assert (worker.returncode, said) == (0, "mail to user 7, attempt 1\n")
