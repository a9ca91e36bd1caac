"""The worker's side of the fork stage: asks for children, sends them signals, hears how they ended."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable

from river_core.worker.processes import records
from river_core.worker.processes.board import Board
from river_core.worker.processes.fork_stage import RunChild, run_stage
from river_core.worker.processes.parent_death import end_with_parent
from river_core.worker.processes.records import EXITED, FAILED, FORK, FORKED, KILL, SENT, Record
from river_core.worker.processes.starting import START_SECONDS, ChildProcess

END_SECONDS = 5.0
SIGNAL_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Stage:
    """The fork stage of a worker. Any thread may use it once it is open."""

    name = "river-fork-stage"

    def __init__(self, board: Board, control: socket.socket, pid: int) -> None:
        """Speak over `control` to the stage that runs as process `pid`."""
        self.board = board
        self.pid = pid
        self._control = control
        self._lock = threading.Lock()
        self._asked: dict[int, ChildProcess] = {}
        self._children: dict[int, ChildProcess] = {}
        self._closed = False
        self._thread: threading.Thread | None = None

    @classmethod
    def fork(
        cls,
        board: Board,
        run_child: RunChild,
        started: Callable[[], object] | None = None,
        forking: Callable[[], object] | None = None,
    ) -> Stage:
        """Fork the stage from this process, which should have one thread and nothing open.

        `started` is called in the stage before it forks anything, `forking` before each child.
        """
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        in_main_thread = threading.current_thread() is threading.main_thread()
        pid = os.fork()
        if pid == 0:
            ours.close()
            _be_stage(theirs, run_child, started, forking, parent if in_main_thread else None)
        theirs.close()
        return cls(board, ours, pid)

    @property
    def alive(self) -> bool:
        """Whether the stage can be asked."""
        return self._thread is None or self._thread.is_alive()

    def open(self) -> None:
        """Begin to listen; the first thread of the pool begins here."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._listen, name=self.name, daemon=True)
            self._thread.start()

    def start_child(self) -> ChildProcess:
        """Have a child forked and return it; raises RiverError where there can be none."""
        ours, theirs = socket.socketpair()
        child = ChildProcess(ours, self.board.take())
        try:
            with self._lock:
                self._asked[child.place.index] = child
                records.send(self._control, Record(FORK, child.place.index), theirs.fileno())
            answered = child.answered.wait(START_SECONDS)
        except OSError:
            answered = False
        finally:
            theirs.close()
        if not answered or child.pid == 0:
            self.forget(child)
            raise child.cannot_start("the process that forks them is gone")
        return child

    def kill(self, child: ChildProcess, number: int = signal.SIGKILL, wait: bool = False) -> None:
        """Have a signal sent to a child that is not gone yet, to no other process that has its id by now.

        With `wait` it has been sent, or the child is gone, when this returns.
        """
        if child.ended.is_set():
            return
        child.signalled.clear()
        try:
            with self._lock:
                records.send(self._control, Record(KILL, child.pid, number))
        except OSError:
            logger.debug("the fork stage is gone, and its children with it")
            return
        if wait:
            child.signalled.wait(SIGNAL_SECONDS)

    def forget(self, child: ChildProcess) -> None:
        """Close what belongs to a child that is gone, and free its place."""
        with self._lock:
            self._asked.pop(child.place.index, None)
            self._children.pop(child.pid, None)
        child.connection.close()
        self.board.give_back(child.place)

    def _listen(self) -> None:
        try:
            while (received := records.receive(self._control)) is not None:
                self._hear(received[0])
        except OSError:
            logger.debug("the connection to the fork stage was closed")
        finally:
            self._all_gone()

    def _hear(self, record: Record) -> None:
        with self._lock:
            child = self._asked.pop(record.first, None) if record.kind in (FORKED, FAILED) else None
            if record.kind == FORKED and child is not None:
                child.pid = record.second
                self._children[child.pid] = child
            elif record.kind == FAILED and child is not None:
                child.error = record.second
            elif record.kind == SENT and record.first in self._children:
                self._children[record.first].signalled.set()
            elif record.kind == EXITED:
                gone = self._children.pop(record.first, None)
                if gone is not None:
                    gone.status = record.second
                    gone.end()
        if child is not None:
            child.answered.set()

    def _all_gone(self) -> None:
        if not self._closed:
            logger.critical("the process that forks children has ended, and all children with it")
        with self._lock:
            left = [*self._asked.values(), *self._children.values()]
            self._asked.clear()
            self._children.clear()
        for child in left:
            child.answered.set()
            child.end()

    def close(self) -> None:
        """End the stage and with it every child that is left."""
        self._closed = True
        try:
            self._control.shutdown(socket.SHUT_RDWR)
        except OSError:
            logger.debug("the fork stage was gone before")
        if self._thread is not None:
            self._thread.join(END_SECONDS)
        self._control.close()
        _wait_for(self.pid)


def _wait_for(pid: int) -> None:
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        logger.debug("process %d was waited for before", pid)


def _be_stage(
    control: socket.socket,
    run_child: RunChild,
    started: Callable[[], object] | None,
    forking: Callable[[], object] | None,
    parent: int | None,
) -> None:
    """Run the stage in this process, which was forked for it, and end the process."""
    code = 1
    try:
        if parent is not None:
            end_with_parent(parent)
        if started is not None:
            started()
        run_stage(control, run_child, forking)
        code = 0
    except BaseException:
        logger.exception("the process that forks children failed")
    finally:
        os._exit(code)
