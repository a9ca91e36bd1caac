"""What makes a worker run for leadership, and do the leader's work while it leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from river_core.notifier import Notifier
from river_core.worker.context import Context
from river_core.worker.elector import Elector
from river_core.worker.maintenance.group import MaintenanceServices


def make_elector(
    context: Context,
    client_id: str,
    notifier: Notifier | None,
    before_start: Sequence[Callable[[], object]],
) -> Elector:
    """Return the elector of a client; what `before_start` raises keeps the services from starting."""
    config = context.config
    maintenance = MaintenanceServices(
        context.driver,
        context.registry,
        config.maintenance(),
        allow=context.limiter.allowed_queues,
        clock=config.clock,
        client=context.client,
        periodic_jobs=context.periodic_jobs,
        before_start=before_start,
    )

    return Elector(
        context.driver,
        client_id,
        notifier,
        maintenance.start,
        maintenance.stop,
        timing=config.internals.election_timing(),
    )
