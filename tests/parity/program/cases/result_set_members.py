"""Members of a ResultSet come and go; a stranger cannot be removed, only discarded. Row 7.15."""

from ..app import app
from ..observation import raised


def observe():
    one, two, three = (app.AsyncResult(name) for name in ("one", "two", "three"))
    members = app.ResultSet([one])
    members.add(one)
    members.update([one, two])
    added = [r.id for r in members]
    members.discard(three)
    removed = raised(members.remove, three)["error"]
    members.remove(one)
    left = [r.id for r in members]
    members.clear()
    return {
        "added": added,
        "stranger": removed,
        "left": left,
        "cleared": [len(members), members.get()],
        "equal": app.ResultSet([one, two]) == app.ResultSet([one, two]),
        "order counts": app.ResultSet([one, two]) == app.ResultSet([two, one]),
    }
