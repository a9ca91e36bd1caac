"""Large groups of one task: the next members are made while the server writes those before.

All in one transaction of our own, so that a member that cannot be sent leaves nothing behind. Nothing of the
caller's runs while it is open but the checks of arguments: others may be slow, or write what is in its way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from river_compat.celery import outgoing
from river_compat.celery.canvas.alike import Alike
from river_compat.celery.canvas.collector import resting
from river_compat.celery.canvas.launching import add_step, note_child
from river_compat.celery.canvas.plan import Plan, Start
from river_compat.celery.canvas.signature import Signature
from river_compat.celery.known_calls import nobody_looks
from river_compat.celery.outgoing import Batch
from river_compat.celery.sending import flush, flush_while_made, goes_alone
from river_core.insert import InsertParams

FEW = 1_000
"""In a group of fewer members there is little to be won."""
CHUNK_ROWS = 1000
"""Written together: about what a socket takes at once, so that the server has it while the next are made."""


def applies(app: Any, members: Any, options: Mapping[str, Any]) -> bool:
    """Whether a group of these members, signatures that nobody else has, is sent this way."""
    if len(members) < FEW or outgoing.current() is not None or not goes_alone(app, options):
        return False
    kind = members[0]._type if type(members[0]) is Signature else None
    alike = all(type(member) is Signature and member._type is kind for member in members)
    return kind is not None and alike and nobody_looks(app)


def launch(app: Any, group: Any, start: Start, place: Mapping[str, Any], add_to_parent: bool) -> Any:
    """Freeze and send a group, and return its result; `place` is what its `freeze` takes."""
    with resting(len(group.tasks)):
        _send(app, group, start, place)
    if add_to_parent:
        note_child(group.frozen)
    return group.frozen


def _send(app: Any, group: Any, start: Start, place: Mapping[str, Any]) -> None:
    batch = Batch()
    alike = Alike(app, batch, len(group.tasks))
    chunks = _chunks(app, group, start, place, batch, alike)
    first = next(chunks)
    if alike.is_used and goes_alone(app, batch.items[0].options):
        flush_while_made(app, batch, chain([first], chunks))
    else:
        _exhaust(chunks)
        flush(app, batch)


def _exhaust(chunks: Iterator[Any]) -> None:
    for _ in chunks:
        pass


def _chunks(
    app: Any, group: Any, start: Start, place: Mapping[str, Any], batch: Batch, alike: Alike
) -> Iterator[list[InsertParams]]:
    """Put the rows of all members into the batch, and give those of each chunk."""
    plan, start = Plan(batch), start.within(group)
    group_id = group.options.get("group_id") or group.id
    members = group.freezing(**place)
    while chunk := list(islice(members, CHUNK_ROWS)):
        written = len(batch.items)
        with outgoing.collected(batch):
            for member in chunk:
                plan.add(member, None, start, group_id)
                add_step(plan.steps[-1], alike, app)
        yield [item.row for item in batch.items[written:]]
