"""What a task has sent hangs below its result, groups too. Rows 7.10, 7.21."""

from celery import shared_task
from celery.exceptions import IncompleteStream

from ..app import app
from ..observation import WAIT, new_id, raised, until


@shared_task
def leaf(x):
    return x**2


@shared_task
def middle(x):
    return leaf.delay(x)


@shared_task(bind=True)
def top(self, n, group_id):
    group = app.GroupResult(group_id, [middle.apply_async((i,), add_to_parent=False) for i in range(n)])
    self.request.children.append(group)
    return group


def complete(result):
    try:
        return list(result.iterdeps())
    except IncompleteStream:
        return []


def observe():
    group_id = new_id()
    result = top.delay(3, group_id)
    value = result.get(timeout=WAIT)
    nodes = until(lambda: complete(result), bool)
    waiting = app.AsyncResult(new_id())
    return {
        "value": [value[0] == [group_id, None], len(value[1])],
        "nodes": len(nodes),
        "leaves": [value for node, value in result.collect() if not node.children],
        "leaf": result.get_leaf(),
        "graph": [len(result.graph), len(list(result.graph.edges()))],
        "children": [type(child).__name__ for child in result.children],
        "incomplete": raised(lambda: list(waiting.iterdeps()))["error"],
        "intermediate": len(list(waiting.iterdeps(intermediate=True))),
    }
