"""Makes the executor of a worker's configuration, as its own process and its children both need it."""

from __future__ import annotations

from river_core.parity import Parity
from river_core.plugins import PluginSet
from river_core.task import Registry
from river_core.worker.config import WorkerConfig
from river_core.worker.executor import Executor
from river_core.worker.extensions import Extensions


def make_executor(registry: Registry, config: WorkerConfig, plugins: PluginSet) -> Executor:
    """Return what runs the tasks of `registry`, with `plugins` around them."""
    extensions = None
    if plugins.any or config.error_handler is not None:
        extensions = Extensions(plugins, config.error_handler)
    return Executor(
        registry,
        config.retry_policy,
        config.clock,
        config.job_timeout,
        extensions,
        traced=config.parity != Parity.GO,
    )
