"""Helpers around the operating system for programs that run workers themselves (`celery.platforms`)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from river_compat.celery import platforms

GONE = 2**22 + 1  # above every number that Linux gives


def test_a_pidfile_keeps_a_second_one_out(tmp_path: Path) -> None:
    """It holds the number of the process, and goes when it is released."""
    path = tmp_path / "worker.pid"
    with platforms.Pidfile(str(path)) as lock:
        assert path.read_text() == f"{os.getpid()}\n"
        assert (lock.is_locked(), lock.read_pid()) == (True, os.getpid())
        with pytest.raises(platforms.LockFailed, match="exists"):
            platforms.Pidfile(str(path)).acquire()
    assert not path.exists()
    assert lock.read_pid() is None
    lock.release()


@pytest.mark.parametrize("content", [f"{GONE}\n", "no number\n", "12", "own\n"])
def test_a_pidfile_of_nobody_is_replaced(tmp_path: Path, content: str) -> None:
    """One that is broken, of a process that is gone, or of this very one, as the first of a container is."""
    path = tmp_path / "worker.pid"
    path.write_text(content.replace("own", str(os.getpid())))
    lock = platforms.create_pidlock(str(path))
    assert path.read_text() == f"{os.getpid()}\n"
    lock.release()


def test_a_pidfile_of_a_live_process_ends_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so, with the number, and leaves the file alone."""
    path = tmp_path / "worker.pid"
    path.write_text(f"{os.getppid()}\n")
    with pytest.raises(SystemExit) as ended:
        platforms.create_pidlock(str(path))
    assert ended.value.code == platforms.EX_CANTCREAT
    assert f"pid: {os.getppid()}" in capsys.readouterr().err
    assert path.read_text() == f"{os.getppid()}\n"


def test_signals_are_handled_by_name() -> None:
    """Set, read, ignored and reset; unknown ones are left out."""
    signals = platforms.signals
    assert signals.supported("USR1")
    assert not signals.supported("NOSUCH")
    assert (signals.signum("INT"), signals.signum("SIGINT"), signals.signum(3)) == (2, 2, 3)
    with pytest.raises(TypeError, match="upper case"):
        signals.signum("int")
    before = signals["USR1"]
    try:
        heard: list[int] = []
        signals.update(USR1=lambda number, frame: heard.append(number), NOSUCH=None)
        signal.raise_signal(signal.SIGUSR1)
        assert heard == [signal.SIGUSR1]
        platforms.ignore_signal("USR1")
        assert signals["USR1"] == signals.ignored
        platforms.reset_signal("USR1")
        assert signals["USR1"] == signals.default
    finally:
        signals["USR1"] = before
    assert platforms.SIGMAP[signal.SIGTERM] == "SIGTERM"


def test_open_files_are_found_by_their_path(tmp_path: Path) -> None:
    """By what they are on the disk, whatever the name they were opened by."""
    path = tmp_path / "open"
    path.touch()
    with path.open() as file:
        assert platforms.fd_by_path([str(path), "/no/such"]) == [file.fileno()]
    assert platforms.fd_by_path([str(path)]) == []


def run(program: str, *arguments: str) -> str:
    """Run a program in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", dedent(program), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_open_files_are_closed_but_those_to_keep() -> None:
    """The others cannot be used any more."""
    printed = run("""
        import os
        from river_compat.celery.platforms import close_open_fds
        kept, other = os.pipe()
        close_open_fds([0, 1, 2, kept])
        os.fstat(kept)
        try:
            os.fstat(other)
        except OSError as error:
            print(error.strerror)
        """)
    assert printed == "Bad file descriptor\n"


def test_a_program_leaves_its_terminal(tmp_path: Path) -> None:
    """The one that is left runs in a session of another process, in its directory, with its mask."""
    told = tmp_path / "told"
    os.mkfifo(told)
    reader = subprocess.Popen(["cat", str(told)], stdout=subprocess.PIPE, text=True)
    run(
        """
        import os, sys
        from river_compat.celery.platforms import create_pidlock, detached
        folder = sys.argv[1]
        began = os.getpid()
        lock, log = f"{folder}/pid", f"{folder}/log"
        with detached(logfile=log, pidfile=lock, umask="077", workdir=folder):
            create_pidlock(lock)
            facts = (os.getpid() != began, os.getsid(0) != os.getpid(), os.getcwd() == folder, os.umask(0))
            with open(f"{folder}/told", "w") as file:
                print(*facts, os.path.exists(log), os.path.exists(lock), file=file)
        """,
        str(tmp_path),
    )
    assert reader.communicate(timeout=30)[0] == f"True True True {0o77} True True\n"


def test_a_process_may_be_named() -> None:
    """As `ps` shows it where setproctitle is installed; the name is returned anyway."""
    assert platforms.set_process_title("shop", info="-l info") == "[shop] -l info"
    assert platforms.set_mp_process_title("shop", hostname="host") == "[shop: host:MainProcess]"


def test_groups_that_cannot_be_set_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless this process is in no other one."""

    def refuse(groups: list[int]) -> None:
        raise PermissionError(groups)

    monkeypatch.setattr(os, "setgroups", refuse)
    monkeypatch.setattr(os, "getgroups", lambda: [5])
    platforms.setgroups([5, 6])
    with pytest.raises(PermissionError):
        platforms.setgroups([6])
