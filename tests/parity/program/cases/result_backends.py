"""Where results are: by the application's argument or by a setting. Row 7.19."""

import os

from ..observation import new_id, outcome
from ..own import application, working


def observe():
    url = os.environ.get("PARITY_OWN_BACKEND") or os.environ["PARITY_OWN_BROKER"]
    queue, seen = new_id(), {}
    ways = {"argument": {"backend": url}, "setting": {"backend": None, "result_backend": url}}
    for way, options in ways.items():
        app = application(task_default_queue=queue, set_as_current=False, **options)

        @app.task(name="backends.add")
        def add(x, y):
            return x + y

        with working(app):
            result = add.delay(1, 2)
            seen[way] = [outcome(result), app.AsyncResult(result.id).get(timeout=5)]
    return seen
