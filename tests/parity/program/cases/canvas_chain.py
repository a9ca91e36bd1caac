"""Results of a chain, ids and parents of its tasks, and options of the whole. Rows 4.1, 8.5, 8.21."""

import itertools

from celery import chain, shared_task

from ..observation import WAIT, new_id


@shared_task
def add(x, y):
    return x + y


@shared_task(bind=True)
def facts(self, *args):
    request = self.request
    return [list(args), request.id, request.root_id, request.parent_id, request.group, self.request.retries]


def observe():
    last_id = new_id()
    result = chain(facts.s("a"), facts.si("b"), facts.si("c")).apply_async(task_id=last_id)
    result.get(timeout=WAIT)
    nodes = [result.parent.parent, result.parent, result]
    names = {node.id: name for node, name in zip(nodes, "abc", strict=True)} | {None: None}
    seen = [node.get(timeout=WAIT) for node in nodes]
    summed = chain(add.s(2, 2), add.s(4), add.s(8))()
    return {
        "ids": [[value[0], *(names[part] for part in value[1:4]), value[4]] for value in seen],
        "last_id": result.id == last_id,
        "first_has_no_parent": result.parent.parent.parent is None,
        "values": [summed.get(timeout=WAIT), summed.parent.get(timeout=WAIT)],
        "partial": chain(add.s(2), add.s(3))(1).get(timeout=WAIT),
        "children": [
            [child.id == node.id for child in before.children] for before, node in itertools.pairwise(nodes)
        ],
        "of_one": chain(add.s(1, 1)).apply_async().get(timeout=WAIT),
    }
