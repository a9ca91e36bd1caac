"""Rules of a registry of tasks, found when it is built."""

from __future__ import annotations

import pytest

from river_core.drivers import open_driver
from river_core.errors import ConfigurationError
from river_core.task import Job, Registry, Task
from river_core.worker.config import WorkerConfig
from river_core.worker.worker import Worker


class Renamed(Task):
    """Works two kinds."""

    kind = "new_name"
    kind_aliases = ("old_name",)

    def work(self, job: Job) -> None:
        """Do nothing."""


def work(job: Job) -> None:
    """Do nothing."""


@pytest.mark.parametrize("kind", ["new_name", "old_name"])
def test_a_kind_or_alias_is_registered_once(kind: str) -> None:
    """Checklist 153. Whichever of the two comes first."""
    with pytest.raises(ConfigurationError, match=f"'{kind}' is registered already"):
        Registry().add(Renamed()).add(kind, work)
    with pytest.raises(ConfigurationError, match=f"'{kind}' is registered already"):
        Registry().add(kind, work).add(Renamed())


def test_a_worker_needs_a_task() -> None:
    """Checklist 153. Queues without tasks could only fail jobs."""
    with pytest.raises(ConfigurationError, match="at least one registered task"):
        Worker(open_driver("sqlite://"), Registry(), WorkerConfig(queues={"default": 1}))
