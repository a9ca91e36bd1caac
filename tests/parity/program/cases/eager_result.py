"""States of an EagerResult, and what get(), revoke() and forget() do with them. Rows 16.6, 7.16."""

import pickle

from celery import shared_task
from celery.exceptions import Ignore, Reject
from celery.result import EagerResult

from ..observation import raised, shown


@shared_task
def does(what):
    if what == "fail":
        raise KeyError("k")
    if what == "ignore":
        raise Ignore
    if what == "reject":
        raise Reject("no")
    return what


def facts(result):
    return {
        "state": result.state,
        "ready": [result.ready(), result.successful(), result.failed()],
        "get": raised(result.get),
        "value": shown(result.get(propagate=False)),
        "trace": bool(result.traceback),
        "name": (result.name or "").rpartition(".")[2],
    }


def revoked():
    result = does.apply(("value",))
    given = result.revoke()
    return [given, result.state, raised(result.get), result.traceback]


def observe():
    again = pickle.loads(pickle.dumps(does.apply(("value",))))  # noqa: S301 - our own bytes
    forgotten = does.apply(("value",))
    forgotten.forget()
    return {
        **{what: facts(does.apply((what,))) for what in ("value", "fail", "ignore", "reject")},
        "retry": facts(EagerResult("id", "x", "RETRY")),
        "revoked": revoked(),
        "pickled": facts(again),
        "forgotten": forgotten.get(),
    }
