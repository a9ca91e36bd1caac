"""Which kind of slots a worker has: threads, the main thread's one, or child processes."""

from __future__ import annotations

from collections.abc import Callable

from river_core.worker.completer import Completer
from river_core.worker.context import Context
from river_core.worker.event_loop import EventLoop
from river_core.worker.executor import Executor
from river_core.worker.main_thread import MainThreadSlots
from river_core.worker.processes.slots import ProcessSlots
from river_core.worker.slots import ThreadSlots
from river_core.worker.stuck import StuckJobs

MakeSlots = Callable[[str, int], ThreadSlots]
"""Makes slots of a name, so many."""


def slots_maker(
    context: Context,
    executor: Executor,
    completer: Completer,
    freed: Callable[[], None],
    loop: EventLoop,
) -> MakeSlots:
    """Return what makes the slots; they run jobs by `executor`, coroutines on `loop`.

    `completer` is given the ends of the jobs, `freed` called when there is room.
    """
    config, stage = context.config, context.stage
    given = (executor, context.client, completer.put, freed, loop)
    ahead = config.claim_ahead
    if config.processes is not None and stage is not None:
        processes = config.processes
        return lambda name, size: ProcessSlots(
            name, size, *given, stage, processes, claim_ahead=ahead, turns=completer
        )
    stuck = StuckJobs(config.job_stuck_threshold, config.job_stuck_handler)
    if config.main_thread:
        return lambda name, _: MainThreadSlots(
            name, 1, *given, claim_ahead=ahead, stuck=stuck, turns=completer
        )
    return lambda name, size: ThreadSlots(name, size, *given, claim_ahead=ahead, stuck=stuck, turns=completer)
