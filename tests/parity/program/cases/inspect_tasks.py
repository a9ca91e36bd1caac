"""Row 12.7. What runs is told with its facts, and what is registered with attributes."""

import time
from pathlib import Path

from celery import current_app, shared_task

from ..observation import new_id, note, wait_for_notes

FACTS = ("id", "name", "args", "kwargs", "type", "time_start", "hostname", "worker_pid", "delivery_info")


@shared_task(rate_limit="1000/s")
def held(key, flag=None):
    note(key, "began")
    until = time.monotonic() + 20
    while not Path(f"{key}.go").exists() and time.monotonic() < until:
        time.sleep(0.02)


def observe():
    key = new_id()
    result = held.delay(key, flag=True)
    wait_for_notes(key)
    inspect = current_app.control.inspect()
    [active] = [item for items in inspect.active().values() for item in items if item["id"] == result.id]
    [query] = [found for found in inspect.query_task(result.id).values() if found]
    registered = [item for items in inspect.registered("rate_limit").values() for item in items]
    queues = {item["name"] for items in inspect.active_queues().values() for item in items}
    Path(f"{key}.go").touch()
    result.get(timeout=60)
    return {
        "has": [name for name in FACTS if name in active],
        "args": [value == key for value in active["args"]],
        "kwargs": active["kwargs"],
        "name": active["name"].rpartition(".")[2],
        "queue": active["delivery_info"]["routing_key"],
        "started": isinstance(active["time_start"], float),
        "query": {task_id == result.id: found[0] for task_id, found in query.items()},
        "registered": [item.rpartition(".")[2] for item in registered if "inspect_tasks.held" in item],
        "queues": sorted(queues),
    }
