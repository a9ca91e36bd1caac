"""Handles are equal by id, print as their id, and need one. Row 7.1."""

import pickle

from celery.result import AsyncResult

from ..app import app
from ..observation import raised


def observe():
    one, same, other = AsyncResult("one"), app.AsyncResult("one"), AsyncResult("other")
    return {
        "equal": [one == same, one != same, one == other, hash(one) == hash(same)],
        "text": [str(one), repr(one), one == "one", one == "other"],
        "none": raised(AsyncResult, None)["error"],
        "app": same.app is app,
        "pickled": pickle.loads(pickle.dumps(one)) == one,  # noqa: S301 - our own bytes
        "tuple": repr(one.as_tuple()),
    }
