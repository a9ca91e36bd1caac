"""A temporary Postgres server that lives as long as somebody holds its standard input.

Run as `python -m river_compat.dev_server BIN [NAME=VALUE ...]` it starts the server in BIN on a free port,
with settings of postgresql.conf, prints one line of JSON (the URL, or why it failed) and waits until its
standard input closes. Then it stops the server and removes everything. Because a closed pipe is also what
remains of a killed parent, nothing is left behind in that case either. The line `restart` restarts the
server without a clean shutdown, as after a crash, and is answered like the start.
"""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

START_ATTEMPTS = 3
COMMAND_TIMEOUT = 60.0
WHEEL_INSTALLATION = "pginstall"
SERVER_USERS = ("postgres", "nobody")
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
}


class ServerStartError(Exception):
    """The server did not start; the text holds what its programs said."""


@dataclass(frozen=True, slots=True)
class Account:
    """The system user that the server runs as; the programs of Postgres refuse to run as root."""

    uid: int
    gid: int


def other_account() -> Account | None:
    """Return None where this user will do, and for root the first of `postgres` and `nobody` that exists."""
    if os.geteuid() != 0:
        return None
    for name in SERVER_USERS:
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid)
    raise ServerStartError(f"Postgres does not run as root, and none of the users {SERVER_USERS} exists")


class TemporaryServer:
    """One server with its own data directory below a temporary directory."""

    def __init__(self, binaries: Path, settings: Mapping[str, str] | None = None) -> None:
        """Take the directory that holds `initdb` and `pg_ctl`; start nothing.

        `settings` of postgresql.conf are added to the ones for quick tests, and win over them.
        """
        self._settings = {**SETTINGS, **(settings or {})}
        self._other = other_account()
        self._home = Path(tempfile.mkdtemp(prefix="river-postgres-"))
        self._binaries = binaries
        self._password = secrets.token_urlsafe(16)

    @property
    def _data(self) -> Path:
        return self._home / "data"

    def start(self) -> str:
        """Create the data directory, start the server and return its URL; raises ServerStartError."""
        self._home.chmod(0o755)
        self._make_binaries_reachable()
        self._initialise()
        for _ in range(START_ATTEMPTS - 1):
            with suppress(ServerStartError):  # somebody may take the free port first
                return self._start_on(free_port())
        return self._start_on(free_port())

    def restart(self) -> None:
        """Crash the server and start it again at the same address; raises ServerStartError."""
        self._run("pg_ctl", "-m", "immediate", "-w", "-l", str(self._data / "server.log"), "restart")

    def stop(self) -> None:
        """Stop the server without ceremony, since its data goes too, and remove its directory."""
        with suppress(ServerStartError):
            self._run("pg_ctl", "-m", "immediate", "-w", "stop")
        shutil.rmtree(self._home, ignore_errors=True)

    def _make_binaries_reachable(self) -> None:
        """Copy the installation out of a directory that the server's user cannot enter."""
        try:
            self._execute([str(self._binaries / "postgres"), "--version"])
        except PermissionError:
            base, parts = _installation(self._binaries)
            for part in parts:
                shutil.copytree(part, self._home / "postgres" / part.relative_to(base), symlinks=True)
            self._binaries = self._home / "postgres" / self._binaries.relative_to(base)

    def _initialise(self) -> None:
        self._data.mkdir(mode=0o700)
        password_file = self._home / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password)
        if self._other is not None:
            for path in (self._data, password_file):
                os.chown(path, self._other.uid, self._other.gid)
        options = [
            "--no-sync",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--auth=scram-sha-256",
        ]
        self._run("initdb", *options, f"--pwfile={password_file}")
        password_file.unlink()

    def _start_on(self, port: int) -> str:
        options = _options({**self._settings, "port": str(port)})
        self._run("pg_ctl", "-w", "-l", str(self._data / "server.log"), "-o", options, "start")
        return f"postgresql://postgres:{self._password}@127.0.0.1:{port}/postgres"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), "-D", str(self._data), *arguments]
        result = self._execute(command)
        if result.returncode != 0:
            raise ServerStartError(f"{' '.join(command)} failed: {result.stdout}{self._log()}".strip())

    def _execute(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        other = self._other
        return subprocess.run(  # noqa: S603 - the programs come from the directories that dev_database names
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=COMMAND_TIMEOUT,
            cwd=self._home,
            env=_environment(),
            user=other.uid if other else None,
            group=other.gid if other else None,
            extra_groups=[] if other else None,
        )

    def _log(self) -> str:
        log = self._data / "server.log"
        return log.read_text(errors="replace")[-2000:] if log.exists() else ""


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _installation(binaries: Path) -> tuple[Path, list[Path]]:
    """Return what belongs to these programs, and the directory that it is placed relative to.

    A wheel keeps its libraries beside the package, and its programs look for them there.
    """
    package = binaries.parents[1]
    if binaries.parent.name != WHEEL_INSTALLATION:
        return package, [binaries.parent]
    libraries = package.with_name(f"{package.name}.libs")
    return package.parent, [part for part in (package, libraries) if part.exists()]


def _options(settings: Mapping[str, str]) -> str:
    return " ".join(f"-c {name}='{value}'" for name, value in settings.items())


def _environment() -> dict[str, str]:
    """Return our environment without what would direct Postgres' programs to another server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def main() -> int:
    """Start the server, report on standard output, wait for the end of standard input, clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    server: TemporaryServer | None = None
    try:
        settings = dict(setting.split("=", 1) for setting in sys.argv[2:])
        server = TemporaryServer(Path(sys.argv[1]), settings)
        url = server.start()
        _report(url=url)
        for line in sys.stdin:
            if line == "restart\n":
                server.restart()
                _report(url=url)
    except (ServerStartError, OSError, subprocess.SubprocessError) as error:
        _report(error=str(error))
        return 1
    finally:
        if server is not None:
            server.stop()
    return 0


def _report(**facts: str) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
