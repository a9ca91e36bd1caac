"""What a worker says when it starts: where it works, on what, and which tasks it knows."""

from __future__ import annotations

from importlib.metadata import version

from river_compat.celery import Celery
from river_compat.cli.place import Place
from river_core import Worker


def banner(app: Celery, worker: Worker, place: Place) -> str:
    """Return the lines, with every task that this worker knows, so that a missing one is noticed."""
    config = worker.config
    facts = {
        "application": app.main or "__main__",
        "database": place.text,
        "queues": ", ".join(config.queues),
        "wake-up": _wake_up(worker),
        "pool": f"{_pool(worker)}, {config.max_workers} at once",
    }
    tasks = sorted(app.tasks) or ["none"]
    lines = [f"river-compat {version('river-compat')} worker"]
    lines += [f"  {name:<12} {value}" for name, value in facts.items()]
    lines += [f"  {'tasks' if number == 0 else '':<12} {name}" for number, name in enumerate(tasks)]
    return "\n".join(lines)


def _pool(worker: Worker) -> str:
    if worker.config.main_thread:
        return "solo"
    return "threads" if worker.config.processes is None else "prefork"


def _wake_up(worker: Worker) -> str:
    config = worker.config
    if not config.poll_only:
        return "notifications"
    return (
        f"polling only: tasks start within {config.fetch_poll_interval:g} s, "
        f"cancellations are seen within {config.control_poll_interval:g} s"
    )
