"""Results of groups: order, ids, nesting, refused links, empty ones, skew. Rows 8.6, 8.15, 8.18, 8.21."""

from celery import group, shared_task

from ..observation import WAIT, new_id, raised


@shared_task
def add(x, y):
    return x + y


@shared_task(bind=True)
def facts(self):
    request = self.request
    return [request.group, request.group_index, request.root_id == request.id, request.parent_id]


def observe():
    group_id = new_id()
    result = group(facts.s() for _ in range(3)).apply_async(task_id=group_id)
    found = result.get(timeout=WAIT)
    nested = group(add.s(1, 1), group(add.s(2, 2), add.s(3, 3)), add.s(4, 4))()
    skewed = group(add.s(1, 1) for _ in range(3)).skew(start=1, stop=3)
    return {
        "members": [[each[0] == group_id, *each[1:]] for each in found],
        "id": result.id == group_id,
        "nested": [sorted(nested.get(timeout=WAIT)), len(nested)],
        "link": raised(group(add.s(1, 1)).apply_async, link=add.s(1)),
        "link_error": raised(group(add.s(1, 1)).apply_async, link_error=add.s(1)),
        "empty": [group([])().results, group([])().get(timeout=WAIT)],
        "partial": group(add.s(1), add.s(2))(10).get(timeout=WAIT),
        "countdowns": [task.options["countdown"] for task in skewed.tasks],
        "fixed_group_id": add.s(1, 1).set(group_id="g").clone(group_id="other").options["group_id"],
    }
