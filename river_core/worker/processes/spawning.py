"""Starts children as fresh interpreters, which import the application anew, where forking is not safe."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from queue import Empty, SimpleQueue
from typing import Any

from river_core.worker.processes.board import BYTES, Board
from river_core.worker.processes.spawned import Inherited, run_spawned
from river_core.worker.processes.starting import START_SECONDS, ChildProcess

LOOK_SECONDS = 0.2
"""A child whose own children hold its open files is seen to have ended after this time."""
END_SECONDS = 5.0

logger = logging.getLogger(__name__)


class SpawnStage:
    """Has children spawned by one thread, which lives as long as they do: the system ends them with it."""

    name = "river-spawn-stage"

    def __init__(self, build: Callable[[], Any], spawning: Callable[[], object] | None = None) -> None:
        """Let each child be made like the worker that `build()` returns there; `build` must be picklable.

        `spawning` is called before each child; what it raises is logged.
        """
        self._build = build
        self._spawning = spawning
        self._memory = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as this is
        self._memory.truncate(BYTES)
        self.board = Board(self._memory.fileno())
        self._context = multiprocessing.get_context("spawn")
        self._orders: SimpleQueue[tuple[ChildProcess, socket.socket]] = SimpleQueue()
        self._processes: dict[ChildProcess, SpawnProcess] = {}
        self._lock = threading.Lock()
        self._bell = os.pipe()
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._thread is None or self._thread.is_alive()

    def open(self) -> None:
        """Start the thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
            self._thread.start()

    def start_child(self) -> ChildProcess:
        """Have a child started and return it, before it is ready; raises RiverError."""
        ours, theirs = socket.socketpair()
        child = ChildProcess(ours, self.board.take())
        with theirs:
            self._orders.put((child, theirs))
            self._ring()
            answered = not self._closed and child.answered.wait(START_SECONDS)
        if not answered or child.pid == 0:
            self.forget(child)
            raise child.cannot_start("the worker ends")
        return child

    def kill(self, child: ChildProcess, number: int = signal.SIGKILL, wait: bool = False) -> None:
        """Send a signal to a child that is not gone yet, to no other process that has its id by now."""
        del wait  # it has been sent when this returns
        with self._lock:
            process = self._processes.get(child)
            if process is not None and process.exitcode is None:
                os.kill(child.pid, number)

    def forget(self, child: ChildProcess) -> None:
        """Close what belongs to a child that is gone, and free its place."""
        child.connection.close()
        self.board.give_back(child.place)

    def close(self) -> None:
        """Kill every child that is left, and end the thread."""
        self._closed = True
        self._ring()
        if self._thread is not None:
            self._thread.join(END_SECONDS)
        for number in self._bell:
            os.close(number)
        self._memory.close()

    def _ring(self) -> None:
        os.write(self._bell[1], b".")

    # -- the thread

    def _run(self) -> None:
        while not self._closed:
            self._wait(LOOK_SECONDS if self._processes else None)
            self._obey()
            self._reap()
        self._end_all()

    def _wait(self, seconds: float | None) -> None:
        ready = wait([self._bell[0], *(process.sentinel for process in self._processes.values())], seconds)
        if self._bell[0] in ready:
            os.read(self._bell[0], 4096)

    def _obey(self) -> None:
        while True:
            try:
                child, theirs = self._orders.get_nowait()
            except Empty:
                return
            try:
                self._start(child, theirs)
            except OSError as error:
                child.error = error.errno or 0
            except Exception:
                logger.exception("a child process cannot be started")
            child.answered.set()

    def _start(self, child: ChildProcess, theirs: socket.socket) -> None:
        if self._spawning is not None:
            try:
                self._spawning()
            except Exception:
                logger.exception("what is called before each child raised")
        files = Inherited(theirs.fileno()), Inherited(self._memory.fileno())
        arguments = (self._build, *files, child.place.index, os.getpid())
        process = self._context.Process(target=run_spawned, args=arguments)
        with self._lock:  # starting one looks for others that have ended
            process.start()
            child.pid = process.pid or 0
            self._processes[child] = process

    def _reap(self) -> None:
        for child, process in list(self._processes.items()):
            with self._lock:
                code = process.exitcode
                if code is None:
                    continue
                del self._processes[child]
            child.status = -code if code < 0 else code << 8
            process.close()
            child.end()

    def _end_all(self) -> None:
        for child in list(self._processes):
            self.kill(child)
        until = time.monotonic() + END_SECONDS
        while self._processes and time.monotonic() < until:
            self._wait(LOOK_SECONDS)
            self._reap()
