"""A Postgres server of a test's own, which it may crash."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from river_compat.dev_database import installations
from tests.requirements import missing


@dataclass(frozen=True)
class OwnServer:
    """A running server; its keeper ends it when the test ends, however that happens."""

    url: str
    keeper: subprocess.Popen[str]

    def restart(self) -> None:
        """Crash it, and return when it answers again at the same address."""
        assert self.keeper.stdin is not None
        self.keeper.stdin.write("restart\n")
        self.keeper.stdin.flush()
        assert _answer(self.keeper) == {"url": self.url}


@contextmanager
def own_server(settings: Mapping[str, str]) -> Iterator[OwnServer]:
    """Start a server from the first installation of Postgres there is."""
    binaries = next((path for _, path in installations() if (path / "pg_ctl").exists()), None)
    if binaries is None:
        missing("a Postgres server of the test's own needs pg_ctl: install postgresql, or set RIVER_PG_BIN")
    options = [f"{name}={value}" for name, value in settings.items()]
    with subprocess.Popen(
        [sys.executable, "-m", "river_compat.dev_server", str(binaries), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as keeper:
        answer = _answer(keeper)
        assert "url" in answer, answer
        yield OwnServer(answer["url"], keeper)


def _answer(keeper: subprocess.Popen[str]) -> dict[str, str]:
    assert keeper.stdout is not None
    answer: dict[str, str] = json.loads(keeper.stdout.readline() or '{"error": "the keeper has ended"}')
    return answer
