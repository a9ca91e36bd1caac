"""The application on River: its database is that of RIVER_DATABASE_URL."""

from benchmarks.compare.tasks import define
from river_compat.celery import Celery

app = Celery("benchmarks.compare.ours")
tasks = define(app)
