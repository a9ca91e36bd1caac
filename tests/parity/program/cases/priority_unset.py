"""Where a call without a priority stands among others: with the first, on Redis. Rows 9.7, 9.8."""

from ..observation import new_id, note, wait_for_notes
from ..own import application, working

SENT = (5, 0, 9, 3, None)


def observe():
    queue = new_id()
    app = application(task_default_queue=queue, task_priority_scheme="redis", set_as_current=False)

    @app.task(name="priority.start", ignore_result=True)
    def start(key, priority):
        note(key, priority)

    @app.task(name="priority.declared", ignore_result=True, priority=9)
    def declared(key, priority):
        note(key, priority)

    scenario, wide = new_id(), new_id()
    for priority in SENT:
        start.apply_async((scenario, priority), priority=priority)
    with working(app, queues=[queue]):
        seen = wait_for_notes(scenario, len(SENT))
    for priority in (9, 8, 7, 6, 5, 4, 3, 2, 1, 0):
        start.apply_async((wide, priority), priority=priority, queue=wide)
    declared.apply_async((wide, "declared"), queue=wide)
    declared.apply_async((wide, "over it"), queue=wide, priority=0)
    with working(app, queues=[wide]):
        every = wait_for_notes(wide, 12)
    return {"scenario": seen, "all": every}
