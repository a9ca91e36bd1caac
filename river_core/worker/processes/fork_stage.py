"""The process that forks children: one thread, no connections, for all of its life.

It has what the worker had when it was forked, the imported application above all, and nothing since.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from river_core.forking import end_process
from river_core.worker.processes import records
from river_core.worker.processes.parent_death import end_with_parent
from river_core.worker.processes.readable import wait_readable
from river_core.worker.processes.records import EXITED, FAILED, FORK, FORKED, KILL, SENT, Record

IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP", "SIGUSR1", "SIGUSR2")
"""The worker decides when its children end, also where a signal goes to the whole group."""

logger = logging.getLogger(__name__)

RunChild = Callable[[socket.socket, int], Any]


def run_stage(
    control: socket.socket, run_child: RunChild, forking: Callable[[], object] | None = None
) -> None:
    """Fork children that call `run_child` with their socket and place, until the worker is gone.

    `forking` is called before each fork; what it raises is logged.
    """
    ignore_signals()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page that it looks at
    _ForkStage(control, run_child, forking).run()


class _ForkStage:
    def __init__(
        self, control: socket.socket, run_child: RunChild, forking: Callable[[], object] | None
    ) -> None:
        self._control = control
        self._forking = forking
        self._run_child = run_child
        self._children: set[int] = set()
        self._wake, self._woken = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._woken, False)
        signal.signal(signal.SIGCHLD, _note)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)

    def run(self) -> None:
        try:
            while True:
                ready = wait_readable([self._control.fileno(), self._wake])
                if self._wake in ready:
                    os.read(self._wake, 4096)
                    self._reap()
                if self._control.fileno() in ready:
                    received = records.receive(self._control)
                    if received is None:
                        return
                    self._obey(*received)
        except OSError:
            return  # the worker is gone
        finally:
            self._end_children()

    def _obey(self, record: Record, descriptor: int | None) -> None:
        if record.kind == FORK and descriptor is not None:
            self._fork(record.first, descriptor)
        elif record.kind == KILL and record.first in self._children:
            os.kill(record.first, record.second)
            records.send(self._control, Record(SENT, record.first))

    def _fork(self, place: int, descriptor: int) -> None:
        stage = os.getpid()
        if self._forking is not None:
            try:
                self._forking()
            except Exception:
                logger.exception("what is called before each child raised")
        try:
            pid = os.fork()
        except OSError as error:
            os.close(descriptor)
            records.send(self._control, Record(FAILED, place, error.errno or 0))
            return
        if pid == 0:
            self._become_child(stage, place, descriptor)
        os.close(descriptor)
        self._children.add(pid)
        records.send(self._control, Record(FORKED, place, pid))

    def _become_child(self, stage: int, place: int, descriptor: int) -> None:
        """Run a child in this process, which is one, and end it."""

        def run() -> None:
            end_with_parent(stage)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number in (self._wake, self._woken):
                os.close(number)
            self._control.close()
            self._run_child(socket.socket(fileno=descriptor), place)

        run_and_end(run)

    def _reap(self) -> None:
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._children:
                self._children.discard(pid)
                records.send(self._control, Record(EXITED, pid, status))

    def _end_children(self) -> None:
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)


def _note(number: int, frame: FrameType | None) -> None:
    """Do nothing: it is the byte in the pipe that counts."""


def ignore_signals() -> None:
    """Let the worker alone decide when this process ends."""
    for name in IGNORED:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def run_and_end(run: Callable[[], object]) -> NoReturn:
    """Be a child by `run`, and end this process."""
    code = 1
    try:
        run()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        logger.exception("a child process failed outside its tasks")
    finally:
        end_process(code)
