"""Results become tuples and results again, with parents and groups. Row 7.10."""

from celery.result import result_from_tuple

from ..app import app
from ..observation import shown


def observe():
    first = app.AsyncResult("first")
    group = app.GroupResult("group", [app.AsyncResult("a"), app.GroupResult("inner", [])], parent=first)
    last = app.AsyncResult("last", parent=group)
    again = result_from_tuple(last.as_tuple(), app)
    return {
        "tuple": shown(last.as_tuple()),
        "list": app.AsyncResult("last", parent=first).as_list(),
        "again": [again == last, again.parent == group, again.parent.parent == first],
        "bare": result_from_tuple(["bare", None], app).id,
    }
