"""What a worker says when it starts: where it works, on what, and which tasks it knows."""

from __future__ import annotations

from importlib.metadata import version
from urllib.parse import urlsplit, urlunsplit

from river_compat.celery import Celery
from river_compat.celery.app.database import database_url
from river_core import Worker


def banner(app: Celery, worker: Worker) -> str:
    """Return the lines, with every task that this worker knows, so that a missing one is noticed."""
    config = worker.config
    facts = {
        "application": app.main or "__main__",
        "database": without_password(database_url(app.conf)),
        "queues": ", ".join(config.queues),
        "pool": f"{'solo' if config.main_thread else 'threads'}, {config.max_workers} at once",
    }
    tasks = sorted(app.tasks) or ["none"]
    lines = [f"river-compat {version('river-compat')} worker"]
    lines += [f"  {name:<12} {value}" for name, value in facts.items()]
    lines += [f"  {'tasks' if number == 0 else '':<12} {name}" for number, name in enumerate(tasks)]
    return "\n".join(lines)


def without_password(url: str) -> str:
    """Return a URL that may be shown."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username}:***@{host}"))
