"""What to do instead of using what is not here: the second half of the sentences that refuse it."""

from __future__ import annotations

from river_compat.celery.refusals import LATER

NO_BROKER = (
    "there is no broker; tasks are rows of the database: leave it out, and send with apply_async or send_task"
)
NO_PARTS = "this part of Celery does not exist here; leave it out"
ROWS = "results are in the tasks' own rows; leave it out"
START = "start workers with the command `river-compat worker`"
EVENTS = "workers send no events: read the rows of river_job, or ask by app.control.inspect()"
HANDLERS = "use the handlers on_failure, on_success and after_return of the task"
SIGNED = "signed messages do not exist here; restrict who may write to the database"
DRAIN_FIRST = f"{LATER}; let the old workers finish what waits in the broker"
INTERNAL = "it is a detail of Celery's own code: leave it out, or copy it from Celery into yours"
COMMANDS = "programs ask workers by app.control and app.control.inspect(), which have all of its commands"
STATE = (
    "what a worker knows is not in this module: ask by app.control.inspect(), whose active(), reserved(), "
    "scheduled(), revoked() and stats() tell it"
)
TRACING = "task.apply() runs a task as a worker does, and build_tracer returns what runs it"
EMBEDDED = "a worker in your process is app.Worker(...), with start(), stop() and terminate()"
OVERRIDDEN = "nothing calls it: use the signals of celery.signals, such as worker_init and worker_ready"
BACKEND = (
    "results are written with the outcomes of tasks: read them by AsyncResult or app.backend.get_task_meta"
)
