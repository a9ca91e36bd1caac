"""What `link` and `link_error` of a call do, one or several, and which of them runs. Row 3.10."""

from celery import shared_task

from ..observation import new_id, note, notes, outcome, wait_for_notes


@shared_task
def act(fails):
    if fails:
        raise KeyError("no")
    return "value"


@shared_task
def good(value, key):
    note(key, ["link", value])


@shared_task
def bad(request, error, traceback, key):
    note(key, ["link_error", request.id, repr(error)])


def observe():
    keys = [new_id() for _ in range(4)]
    links = [{"link": good.s(key), "link_error": bad.s(key)} for key in keys[:2]]
    results = [act.apply_async((fails,), **each) for fails, each in zip((False, True), links, strict=True)]
    lists = {"link": [good.s(keys[2]), good.si("fixed", keys[2])], "link_error": [bad.s(keys[3])] * 2}
    many = [act.apply_async((fails,), **lists) for fails in (False, True)]
    ends = [outcome(result) for result in (*results, *many)]
    heard = [wait_for_notes(key, count) for key, count in zip(keys, (1, 1, 2, 1), strict=True)]
    ids = {results[1].id: "second", many[1].id: "fourth"}
    named = [sorted([[ids.get(part, part) for part in each] for each in some]) for some in heard[:3]]
    return {"ends": ends, "heard": named, "errors": {len(each) for each in notes(keys[3])} == {3}}
