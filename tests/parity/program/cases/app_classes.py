"""Classes of an application belong to it: signatures, results, tasks. Row 1.21."""

from celery import Celery
from celery.app.task import Task
from celery.canvas import Signature
from celery.result import AsyncResult, GroupResult, ResultSet

from ..observation import new_id


def same(x):
    return x


def observe():
    app = Celery("classes", set_as_current=False, backend="cache+memory://", broker="memory://")
    task = app.task(same, name="classes.same", shared=False)
    result, group_id = app.AsyncResult(new_id()), new_id()
    group = app.GroupResult(group_id, [result])
    members = app.ResultSet([result])
    signature = app.signature("classes.same", args=(1,), kwargs={"a": 2}, countdown=3)
    return {
        "results": [each.app is app for each in (result, group, members)],
        "kinds": [
            isinstance(result, AsyncResult),
            isinstance(group, GroupResult),
            isinstance(members, ResultSet),
            isinstance(signature, Signature),
            isinstance(task._get_current_object(), app.Task),
        ],
        "subclasses": [
            issubclass(app.AsyncResult, AsyncResult),
            issubclass(app.GroupResult, GroupResult),
            issubclass(app.ResultSet, ResultSet),
            issubclass(app.Task, Task),
        ],
        "signature": [signature.app is app, dict(signature)],
        "runs": [app.signature("classes.same")(5), app.signature(dict(signature)).type.name],
        "task": [app.Task.app is app, task.app is app, task.AsyncResult(result.id).app is app],
        "group": [group.id == group_id, len(group), group.results[0] is result],
        "apart": Celery("other", set_as_current=False).AsyncResult("x").app is app,
    }
