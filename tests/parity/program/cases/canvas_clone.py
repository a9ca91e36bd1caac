"""Copies of a signature share nothing; its id is fixed before it is sent. Row 8.3."""

from celery import chain, group, shared_task, signature

from ..observation import WAIT, new_id, outcome


@shared_task
def sub(x, y=0):
    return x - y


def observe():
    first = sub.s(9, y=4).set(headers={"a": {"b": 1}})
    first.link(sub.s(1))
    copy = first.clone()
    copy.options["headers"]["a"]["b"] = 2
    copy.kwargs["y"] = 5
    copy.link(sub.s(2))
    replaced = first.replace(args=(5,), kwargs={"y": 1}, options={"countdown": 0})
    frozen, key = sub.s(9), new_id()
    result = frozen.freeze(key)
    steps = chain(sub.s(9), sub.s(1))
    last = steps.freeze()
    members = group(sub.s(1), sub.s(2)).freeze()
    return {
        "apart": [first.options["headers"], first.kwargs, len(first.options["link"])],
        "copy": [copy.options["headers"], copy.kwargs, len(copy.options["link"])],
        "replaced": [list(replaced.args), replaced.kwargs, replaced.options, list(first.args)],
        "frozen": [frozen.id == result.id == key, outcome(frozen.delay()), result.get(timeout=WAIT)],
        "frozen again": frozen.freeze().id == key,
        "chain": [last.parent is not None, steps.id == last.id],
        "group": [len(members), len({member.id for member in members})],
        "inverted": ~sub.s(9, y=2),
        "in place": [sub.s(9, y=2).apply().get(), sub.s(9)(), signature(dict(sub.s(4))) == sub.s(4)],
        "repr": [repr(sub.s(1, y=2)).rpartition(".")[2], sub.s(2).reprcall(1).rpartition(".")[2]],
        "linked": [each.args for each in first.flatten_links()],
    }
