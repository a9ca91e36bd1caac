"""The commands that a worker answers, and how to add one (`celery.worker.control`).

    @control_command(args=[("n", int)], signature="[N=1]")
    def increase(state, n=1): ...

A command is called with the worker's `state`, which has `app`, `hostname` and `worker`, and with the caller's
arguments; what it returns is its reply, which must be JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from river_compat.celery.refused_names import refusing
from river_compat.celery.worker import questions as questions  # it registers what every worker tells
from river_compat.celery.worker.commands import add_consumer, cancel_consumer
from river_compat.celery.worker.panel import (
    Panel,
    control_command,
    controller_info_t,
    inspect_command,
    nok,
    ok,
)

__all__ = [
    "Panel",
    "add_consumer",
    "cancel_consumer",
    "control_command",
    "controller_info_t",
    "inspect_command",
    "nok",
    "ok",
]


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
