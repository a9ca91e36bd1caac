"""What monitors keep of events: workers and tasks, by `app.events.State`. Row 22.1."""

import time

from celery import current_app
from celery.events import Event

from ..observation import new_id


def observe():
    state = current_app.events.State()
    task_id, now = new_id(), time.time()

    def told(kind, **fields):
        facts = {"hostname": "w1@host", "clock": state.event_count + 1, "local_received": now, "pid": 7}
        state.event(Event(kind, timestamp=now, **facts, **fields))

    told("worker-online", freq=2.0, sw_ident="x")
    seen = {"alive": [worker.hostname for worker in state.alive_workers()]}
    for kind, fields in (
        ("task-received", {"name": "shop.pay", "args": "(1,)", "kwargs": "{}", "retries": 0}),
        ("task-started", {}),
        ("task-succeeded", {"result": "2", "runtime": 0.5}),
    ):
        told(kind, uuid=task_id, **fields)
        task = state.tasks[task_id]
        seen[kind] = [task.state, task.name, task.args, task.result, task.runtime]
    seen["types"] = [list(state.task_types()), state.task_count, state.event_count]
    seen["by worker"] = [each[0] == task_id for each in state.tasks_by_worker("w1@host")]
    return seen
