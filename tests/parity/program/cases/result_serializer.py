"""What a result is written in, and that a reader takes only what it accepts. Row 7.23."""

from ..observation import new_id, outcome, raised
from ..own import application, working

BOTH = ["json", "pickle", "yaml"]


def observe():
    queue, seen = new_id(), {}
    for serializer in ("pickle", "yaml", "json"):
        app = application(
            task_default_queue=queue,
            result_serializer=serializer,
            result_accept_content=BOTH,
            set_as_current=False,
        )

        @app.task(name="serializer.pair")
        def pair():
            return (1, 2)

        with working(app):
            result = pair.delay()
            seen[serializer] = outcome(result)
        reader = application(
            set_as_current=False, result_accept_content=["json"], result_serializer=serializer
        )
        told = raised(reader.AsyncResult(result.id).get, timeout=5)
        seen[serializer]["by json alone"] = told.get("error") or told
    return seen
