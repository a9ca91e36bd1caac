"""Expected exceptions are logged without a traceback, and fail the task as others do. Row 2.19."""

import logging

from celery import shared_task, signals

from ..observation import new_id, note, notes, outcome, until

PREFIX = "task-throws-"


class Noting(logging.Handler):
    def emit(self, record):
        data = getattr(record, "data", None) or {}
        task_id = str(data.get("id"))
        if task_id.startswith(PREFIX) and "raised" in record.getMessage():
            unexpected = "unexpected" in record.getMessage()
            note(
                task_id,
                [record.levelname, unexpected, bool(record.exc_info), "Traceback" in self.format(record)],
            )


@signals.after_setup_logger.connect
def listen(logger=None, **kwargs):
    logging.getLogger("celery.app.trace").addHandler(Noting())


@shared_task(throws=(KeyError, ArithmeticError))
def act(kind):
    raise {"key": KeyError, "zero": ZeroDivisionError, "value": ValueError}[kind](kind)


def observed(kind):
    task_id = f"{PREFIX}{new_id()}"
    end = outcome(act.apply_async((kind,), task_id=task_id))
    return [end, until(lambda: notes(task_id), bool)]


def observe():
    return {kind: observed(kind) for kind in ("key", "zero", "value")}
