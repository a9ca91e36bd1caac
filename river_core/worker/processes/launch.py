"""Starts what starts the children of a worker, with what they need to run the tasks."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from river_core.plugins import PluginSet
from river_core.worker.executing import make_executor
from river_core.worker.processes.board import Board
from river_core.worker.processes.child import ChildPlan, child_main
from river_core.worker.processes.open_sockets import warn_of_open_sockets
from river_core.worker.processes.spawning import SpawnStage
from river_core.worker.processes.stage import Stage
from river_core.worker.processes.starting import Starter

if TYPE_CHECKING:
    from river_core.job_handle import Inserter
    from river_core.task import Registry
    from river_core.worker.config import WorkerConfig
    from river_core.worker.processes.config import ProcessConfig

logger = logging.getLogger(__name__)


def launch(registry: Registry, config: WorkerConfig, client: Inserter, processes: ProcessConfig) -> Starter:
    """Return what starts children: for forking, a process that is forked now."""
    if processes.spawns and processes.build is not None:
        return SpawnStage(processes.build, processes.child_forking)
    return _fork_stage(registry, config, client, processes)


def _fork_stage(
    registry: Registry, config: WorkerConfig, client: Inserter, processes: ProcessConfig
) -> Stage:
    """Fork the stage from this process, and say what is there that should not be."""
    if threading.active_count() > 1:
        names = ", ".join(sorted(thread.name for thread in threading.enumerate())[:10])
        logger.warning("the process that forks children is forked beside running threads: %s", names)
    warn_of_open_sockets()
    board = Board()
    executor = make_executor(registry, config, PluginSet(config.plugins, registry))
    plan = ChildPlan(executor, client, processes)
    forking = processes.child_forking
    return Stage.fork(board, child_main(plan, board.place), processes.stage_started, forking)
