"""A child process as the worker sees it, and what whoever starts children does for their keepers."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from dataclasses import dataclass, field
from typing import Protocol

from river_core.errors import RiverError
from river_core.worker.processes.board import Place

START_SECONDS = 30.0

logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class ChildProcess:
    """One child: its socket, its place on the board, and how it ended."""

    connection: socket.socket
    place: Place
    pid: int = 0
    status: int | None = None
    """The wait status, once the process is gone and that is known."""
    answered: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    signalled: threading.Event = field(default_factory=threading.Event)
    error: int = 0

    def end(self) -> None:
        """Let the keeper read what the child has sent, and then see the end, whoever holds the socket too."""
        self.ended.set()
        self.signalled.set()
        try:
            self.connection.shutdown(socket.SHUT_RD)
        except OSError:
            logger.debug("the socket of process %d was closed before", self.pid)

    def cannot_start(self, otherwise: str) -> RiverError:
        """Return the error that says why there is no such process."""
        why = os.strerror(self.error) if self.error else otherwise
        return RiverError(f"no child process can be started: {why}")


class Starter(Protocol):
    """Starts children, sends them signals, and hears how they ended."""

    name: str

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        ...

    def open(self) -> None:
        """Begin to listen; the first thread of the pool begins here."""
        ...

    def start_child(self) -> ChildProcess:
        """Have a child started and return it; raises RiverError where there can be none."""
        ...

    def kill(self, child: ChildProcess, number: int = signal.SIGKILL, wait: bool = False) -> None:
        """Have a signal sent to a child that is not gone yet, to no other process that has its id by now.

        With `wait` it has been sent, or the child is gone, when this returns.
        """
        ...

    def forget(self, child: ChildProcess) -> None:
        """Close what belongs to a child that is gone, and free its place."""
        ...

    def close(self) -> None:
        """End every child that is left."""
        ...
