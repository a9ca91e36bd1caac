"""The application that the benchmarks run: one task that does nothing.

Takes its database from RIVER_DATABASE_URL, as the worker command does.
"""

from river_compat.celery import Celery

app = Celery("benchmarks.app")


@app.task
def noop() -> None:
    """Do nothing."""
