"""The log lines of tasks, of expected errors too, and where `print` goes. Rows 21.3, 21.4."""

import logging
import re

from celery import shared_task, signals
from celery.utils.log import get_task_logger

from ..observation import new_id, note, notes, until

KEY = "log-lines"
NAME = "parity.log_lines.write"
logger = get_task_logger(__name__)


class Noting(logging.Handler):
    def emit(self, record):
        text = record.getMessage()
        found = re.search(r"\[(log-lines-[^\]]+)\]|^(log-lines-\S+) ", text)
        if found:
            task_id = found.group(1) or found.group(2)
            text = re.sub(r"\d+\.\d+(e-\d+)?s", "0.1s", text.replace(task_id, "ID"))
            data = sorted(getattr(record, "data", {}))
            facts = [record.name, record.levelname, text, "id" in data and "name" in data]
            note(task_id, [*facts, getattr(record, "task_name", None)])


@signals.after_setup_logger.connect
def listen(logger=None, **kwargs):
    for name in ("celery.app.trace", "celery.worker.strategy", "celery.redirected"):
        logging.getLogger(name).addHandler(Noting())
        logging.getLogger(name).setLevel(logging.INFO)


@signals.after_setup_task_logger.connect
def listen_to_tasks(logger=None, **kwargs):
    logger.addHandler(Noting())


@shared_task(bind=True, name=NAME, throws=(KeyError,), default_retry_delay=0)
def write(self, how):
    print(f"{self.request.id} printed")  # noqa: T201 - it is the point
    logger.warning("%s by the task's logger", self.request.id)
    if how == "fail":
        raise ValueError(how)
    if how == "expected":
        raise KeyError(how)
    if how == "retry" and not self.request.retries:
        raise self.retry(exc=OSError("later"))
    return [how]


def observed(how, count):
    task_id = f"{KEY}-{new_id()}"
    write.apply_async((how,), task_id=task_id)
    return until(lambda: notes(task_id), lambda seen: len(seen) >= count)


def observe():
    seen = {how: observed(how, count) for how, count in (("return", 4), ("fail", 4), ("expected", 4))}
    retried = [line for line in observed("retry", 8) if "retry:" in line[2]]
    return {**seen, "retry": retried}
