"""A PgBouncer in transaction mode of a test's own, in front of any Postgres."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg

from river_compat.dev_server import free_port, other_account
from tests.requirements import missing

DIRECTORIES = ("/usr/sbin", "/usr/local/sbin")
START_SECONDS = 10.0
SETTINGS = """
[databases]
{name} = {target}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 200
logfile = {log}
"""


def program() -> str:
    """Return the path of `pgbouncer`; the test is skipped, or fails in CI, where there is none."""
    found = shutil.which("pgbouncer", path=os.pathsep.join((os.environ.get("PATH", ""), *DIRECTORIES)))
    return found or missing("pgbouncer (the distribution's package of that name)")


@contextmanager
def pgbouncer(database_url: str, folder: Path) -> Iterator[str]:
    """Pool the connections to one database; give the URL for clients. It ends with the block.

    Eight connections to the server serve all clients, so that two of a client's transactions are
    seldom in one session.
    """
    command, port, name = program(), free_port(), f"pooled_{secrets.token_hex(3)}"
    folder.mkdir()
    config, log = folder / "pgbouncer.ini", folder / "pgbouncer.log"
    config.write_text(SETTINGS.format(name=name, target=_target(database_url), port=port, log=log))
    account = other_account()
    if account is not None:
        for path in (folder, config):
            os.chown(path, account.uid, account.gid)
        _let_in(folder)
    process = subprocess.Popen(
        [command, str(config)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )
    url = f"postgresql://somebody@127.0.0.1:{port}/{name}"
    try:
        _wait_ready(process, url, log)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _let_in(folder: Path) -> None:
    """Let the other user reach a directory below pytest's private one."""
    for parent in folder.parents:
        if parent.stat().st_uid == os.geteuid() and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)


def _target(url: str) -> str:
    """Return a URL as PgBouncer spells where a database is."""
    parts = urlsplit(url)
    facts = {
        "host": parts.hostname,
        "port": parts.port,
        "dbname": parts.path[1:],
        "user": parts.username and unquote(parts.username),
        "password": parts.password and unquote(parts.password),
    }
    return " ".join(f"{name}={value}" for name, value in facts.items() if value)


def _wait_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            with psycopg.connect(url, connect_timeout=2, prepare_threshold=None):
                return
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > until:
                said = log.read_text() if log.exists() else ""
                raise AssertionError(f"pgbouncer does not serve {url}: {error}\n{said}") from error
            time.sleep(0.05)  # looks again whether it listens by now
