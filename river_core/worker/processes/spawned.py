"""What a spawned child does first: it builds the worker that it belongs to, and is one of its children."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any

from river_core.plugins import PluginSet
from river_core.worker.executing import make_executor
from river_core.worker.processes.board import Board
from river_core.worker.processes.child import ChildPlan, child_main
from river_core.worker.processes.fork_stage import IGNORED, end_process
from river_core.worker.processes.parent_death import end_with_parent

logger = logging.getLogger(__name__)


class Inherited:
    """An open file that a spawned process gets under a number of its own."""

    def __init__(self, number: int) -> None:
        """Name the file by its number here."""
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        """Hand the file over, while a process is being spawned."""
        return _received, (reduction.DupFd(self.number),)


def _received(duplicate: Any) -> Inherited:
    return Inherited(duplicate.detach())


def run_spawned(
    build: Callable[[], Any], connection: Inherited, memory: Inherited, place: int, parent: int
) -> None:
    """Run a child in this process, and end the process."""
    code = 1
    try:
        end_with_parent(parent)
        for name in IGNORED:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
        child_main(_plan(build), Board(memory.number).place)(socket.socket(fileno=connection.number), place)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        logger.exception("a child process failed outside its tasks")
    finally:
        end_process(code)


def _plan(build: Callable[[], Any]) -> ChildPlan:
    worker = build()
    registry, config = worker.registry, worker.config
    executor = make_executor(registry, config, PluginSet(config.plugins, registry))
    return ChildPlan(executor, worker.client, config.processes)
