"""A bound task sees its call in self.request. Rows 4.1, 4.3."""

from celery import current_task, shared_task

from ..observation import new_id

FIELDS = (
    "id",
    "task",
    "args",
    "kwargs",
    "retries",
    "root_id",
    "parent_id",
    "correlation_id",
    "is_eager",
    "called_directly",
    "eta",
    "expires",
    "headers",
    "group",
    "chord",
    "callbacks",
    "errbacks",
    "timelimit",
    "lang",
    "argsrepr",
    "kwargsrepr",
    "ignore_result",
)


@shared_task(bind=True)
def fields(self, *args, **kwargs):
    seen = {name: getattr(self.request, name) for name in FIELDS}
    seen["same_object"] = current_task.request.id == self.request.id
    seen["get"] = [self.request.get("retries"), self.request.get("nothing", "default")]
    return seen


def observe():
    task_id = new_id()
    seen = fields.apply_async((1, "two"), {"three": 3.0}, task_id=task_id).get(timeout=60)
    return {name: "OWN ID" if value == task_id else repr(value) for name, value in seen.items()}
