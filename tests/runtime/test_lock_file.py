"""A lock file is held exactly as long as its process lives, and nobody holds what others cannot find."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from river_core.errors import OperationalError
from river_core.worker.identity import LOCKED
from river_core.worker.lock_file import (
    LockFile,
    delete_all_free,
    delete_if_free,
    is_held,
    lock_path,
)

HOLDER = """
import sys
from pathlib import Path
from river_core.worker.lock_file import LockFile
lock = LockFile(Path(sys.argv[1]))
lock.hold()
print("held", flush=True)
sys.stdin.read()
"""


def test_held_until_released(tmp_path: Path) -> None:
    """A look does not disturb it, and a release leaves no file."""
    lock = LockFile(tmp_path / "lock")
    lock.hold()
    assert is_held(lock.path)
    assert is_held(lock.path)
    lock.hold()
    lock.release()
    lock.release()
    assert not is_held(lock.path)
    assert not lock.path.exists()


def test_a_kill_frees_it(tmp_path: Path) -> None:
    """The file stays behind, free, and can be deleted then."""
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_held(path)
        assert not delete_if_free(path)
        with pytest.raises(OperationalError, match="cannot be locked"):
            LockFile(path).hold()
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
    assert path.exists()
    assert not is_held(path)
    assert delete_if_free(path)


def test_a_forked_child_does_not_keep_it(tmp_path: Path) -> None:
    """The lock ends with the process that took it, while a child of that lives on."""
    lock = LockFile(tmp_path / "lock")
    lock.hold()
    reader, writer = os.pipe()
    begun_reader, begun_writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(begun_writer, b"x")
        os.read(reader, 1)
        os._exit(0)
    try:
        os.read(begun_reader, 1)
        assert is_held(lock.path)
        lock._close()
        assert not is_held(lock.path)
    finally:
        os.write(writer, b"x")
        os.waitpid(child, 0)
        for descriptor in (reader, writer, begun_reader, begun_writer):
            os.close(descriptor)


def test_a_deleted_file_is_locked_anew(tmp_path: Path) -> None:
    """Whoever deletes it cannot make a living client look dead for longer than one look."""
    lock = LockFile(tmp_path / "lock")
    lock.hold()
    lock.path.unlink()
    assert not is_held(lock.path)
    lock.hold()
    assert is_held(lock.path)
    lock.release()


def test_a_file_that_cannot_be_looked_at_counts_as_held(tmp_path: Path) -> None:
    """Doubt never kills."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert is_held(loop)


def test_paths_tell_clients_apart(tmp_path: Path) -> None:
    """Ids that only differ in characters that no file name takes, or in their end, have their own files."""
    database = str(tmp_path / "river.sqlite3")
    long = "/" * 85
    ids = ["a/b_00000001_pyl", "a.b_00000001_pyl", f"{long}_00000001_pyl", f"{long}_00000002_pyl"]
    paths = {lock_path(database, client) for client in ids}
    assert len(paths) == len(ids)
    assert {path.parent for path in paths} == {tmp_path}
    assert all(len(path.name) < 255 for path in paths)


def test_a_link_to_the_database_finds_the_same_file(tmp_path: Path) -> None:
    """Two clients may know the database under two names."""
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert lock_path(str(tmp_path / "link"), "one_pyl") == lock_path(str(tmp_path / "real"), "one_pyl")


def test_files_of_dead_clients_are_swept(tmp_path: Path) -> None:
    """Only free ones, only of this database, only with the marker."""
    database = str(tmp_path / "river.sqlite3")
    living = LockFile(lock_path(database, "living_pyl"))
    living.hold()
    others = [tmp_path / "river.sqlite3-wal", lock_path(str(tmp_path / "other"), "one_pyl")]
    for path in (*others, lock_path(database, "dead_pyl")):
        path.touch()
    assert delete_all_free(database, LOCKED) == 1
    assert living.path.exists()
    assert all(path.exists() for path in others)
    living.release()
