"""Order of starts with one slot: by priority, equal ones as they were sent. Row 9.10."""

from ..observation import new_id, note, wait_for_notes
from ..own import application, working

MANY = 20


def observe():
    app = application(task_default_queue=new_id(), task_priority_scheme="redis", set_as_current=False)

    @app.task(name="order.start", ignore_result=True)
    def start(key, number):
        note(key, number)

    equal, ranked = new_id(), new_id()
    for number in range(MANY):
        start.delay(equal, number)
    for number, priority in enumerate((9, None, 3, 6, 0)):
        start.apply_async((ranked, number), priority=priority, queue=ranked)
    with working(app, queues=[app.conf.task_default_queue]):
        seen = wait_for_notes(equal, MANY)
    with working(app, queues=[ranked]):
        by_priority = wait_for_notes(ranked, 5)
    return {"in order": seen == sorted(seen), "by priority": by_priority}
