"""What an eager task finds in its request. Row 16.7."""

from celery import Celery

from ..observation import new_id


def observe():
    app = Celery("eager", set_as_current=False)
    app.conf.task_always_eager = True

    @app.task(name="eager.facts", bind=True, shared=False)
    def facts(self, *args, **kwargs):
        request = self.request
        return {
            "args": [list(request.args), request.kwargs],
            "flags": [request.is_eager, request.called_directly],
            "ids": [request.id, request.root_id, request.parent_id],
            "retries": request.retries,
            "info": {
                name: request.delivery_info.get(name) for name in ("is_eager", "exchange", "routing_key")
            },
            "headers": request.headers,
            "expires": request.expires is None,
            "hostname": bool(request.hostname),
        }

    @app.task(name="eager.outer", bind=True, shared=False)
    def outer(self):
        inner = facts.delay().get(disable_sync_subtasks=False)
        return [inner["ids"][1] == self.request.id, inner["ids"][2] == self.request.id, self.request.is_eager]

    key = new_id()
    chosen = facts.apply_async((1,), {"a": 2}, task_id=key, headers={"h": 1}, retries=2).get()
    own = facts.delay().get()
    seen = {name: value for name, value in chosen.items() if name != "ids"}
    return {
        "chosen": seen,
        "ids": [[each == key for each in chosen["ids"][:2]], chosen["ids"][2]],
        "own": [own["ids"][0] == own["ids"][1], own["ids"][0] != key],
        "inside": outer.delay().get(),
    }
