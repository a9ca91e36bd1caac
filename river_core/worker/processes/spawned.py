"""What a spawned child does first: it builds the worker that it belongs to, and is one of its children."""

from __future__ import annotations

import socket
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any

from river_core.plugins import PluginSet
from river_core.worker.executing import make_executor
from river_core.worker.processes.board import Board
from river_core.worker.processes.child import ChildPlan, child_main
from river_core.worker.processes.fork_stage import ignore_signals, run_and_end
from river_core.worker.processes.parent_death import end_with_parent


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

    def run() -> None:
        end_with_parent(parent)
        ignore_signals()
        child_main(_plan(build), Board(memory.number).place)(socket.socket(fileno=connection.number), place)

    run_and_end(run)


def _plan(build: Callable[[], Any]) -> ChildPlan:
    worker = build()
    registry, config = worker.registry, worker.config
    executor = make_executor(registry, config, PluginSet(config.plugins, registry))
    return ChildPlan(executor, worker.client, config.processes)
