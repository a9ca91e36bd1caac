"""The application on River with both opt-ins, in a queue of its own of the same database."""

from benchmarks.compare.tasks import define
from river_compat.celery import Celery

app = Celery("benchmarks.compare.relaxed", set_as_current=False)
app.conf.update(river_durable_inserts=False, river_durable_claims=False, task_default_queue="relaxed")
tasks = define(app)
