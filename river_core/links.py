"""Jobs that wait for other jobs: who feeds whom, and what rows keep of it in their metadata.

A waiting job is a `pending` row, which no client of River fetches, promotes or cleans. Each member that
ends hands its part over in the transaction that ends it, and the last part makes the row available.
Parts are a set by index, so one that comes twice counts once.

The keys are those of the adapters' own data (`python_task_...`); the core gives them no other meaning.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FEEDS = "python_task_feeds"
"""On a member: the waiting rows that its end goes to, as "ID:INDEX ID:INDEX"."""
MEMBERS = "python_task_members"
"""On a waiting row: the ids of its members in order of their indexes, as "5-8 11"."""
PARTS = "python_task_parts"
"""On a waiting row: the parts that have come, as the text of a JSON object from index to text."""
DELAY = "python_task_delay"
"""On a waiting row: how many seconds after its last part it is to run."""


@dataclass(frozen=True, slots=True)
class Feed:
    """Where the end of a job goes: to a waiting row of the same batch, by name, or to a stored one, by id.

    `index` None is for one more part of a stored row; the row then waits for it, too.
    """

    target: str | int
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Links:
    """How a row that is inserted hangs together with others.

    `name` makes it a waiting row that others of the batch feed, with all indexes from 0 on; `delay` in
    seconds counts from its last part.
    """

    name: str | None = None
    feeds: tuple[Feed, ...] = ()
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Part:
    """What a member that succeeded hands over: text for the waiting row `target`, at `index`."""

    target: int
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Break:
    """What a member hands over that will never bring its part: the waiting row cannot run.

    `cause` is for the task of the waiting row, which decides what becomes of it.
    """

    target: int
    index: int
    cause: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recount:
    """The waiting row `target` is to be looked at again: it may have all its parts by now."""

    target: int


HandOver = Part | Break


MAX_MEMBERS = 1_000_000
MAX_DELAY_SECONDS = 100 * 366 * 86_400.0


class LinkError(ValueError):
    """What a row keeps of its links cannot be read: nobody of ours wrote it."""


def feeds_of(metadata: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return (row id, index) of the waiting rows that a job feeds; raises LinkError for what is none."""
    text = metadata.get(FEEDS)
    if not isinstance(text, str):
        return []
    pairs = (item.partition(":") for item in text.split())
    try:
        return [(int(target), int(index)) for target, _, index in pairs]
    except ValueError:
        raise LinkError(f"{FEEDS}: {text[:80]!r} is no list of row ids and indexes") from None


def feeds_text(feeds: Iterable[tuple[int, int]]) -> str:
    """Return what `feeds_of` reads."""
    return " ".join(f"{target}:{index}" for target, index in feeds)


def members_of(metadata: Mapping[str, Any]) -> list[int]:
    """Return the ids of the members of a waiting row, in order of their indexes; raises LinkError."""
    text = metadata.get(MEMBERS)
    ids: list[int] = []
    for item in text.split() if isinstance(text, str) else ():
        first, _, last = item.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise LinkError(f"{MEMBERS}: {item!r} is no id and no range of ids")
        found = range(int(first), int(last or first) + 1)
        if len(ids) + len(found) > MAX_MEMBERS:
            raise LinkError(f"{MEMBERS}: more than {MAX_MEMBERS} members")
        ids.extend(found)
    return ids


def members_text(ids: Iterable[int]) -> str:
    """Return what `members_of` reads; ids that follow each other are one range."""
    ranges: list[list[int]] = []
    for item in ids:
        if ranges and ranges[-1][1] + 1 == item:
            ranges[-1][1] = item
        else:
            ranges.append([item, item])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def parts_of(metadata: Mapping[str, Any]) -> dict[int, str]:
    """Return the parts that a waiting row has, by index; raises LinkError."""
    text = metadata.get(PARTS)
    try:
        found = json.loads(text) if isinstance(text, str) else {}
        parts = {int(index): part for index, part in found.items()}
    except (AttributeError, RecursionError, ValueError) as error:
        raise LinkError(f"{PARTS} holds no parts: {error}") from error
    if not all(isinstance(part, str) for part in parts.values()):
        raise LinkError(f"{PARTS} holds parts that are no text")
    return parts


def lacks_parts(metadata: Mapping[str, Any]) -> bool:
    """Whether a row that waits is short of a part; False for what cannot be read."""
    try:
        return not is_complete(members_of(metadata), parts_of(metadata))
    except LinkError:
        return False


def is_complete(members: Sequence[int], parts: Mapping[int, str]) -> bool:
    """Whether every member has brought its part."""
    return all(index in parts for index in range(len(members)))


def delay_of(metadata: Mapping[str, Any]) -> float:
    """Return how many seconds after its last part a waiting row is to run; raises LinkError."""
    found = metadata.get(DELAY, 0.0)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= MAX_DELAY_SECONDS:
        raise LinkError(f"{DELAY} is no number of seconds: {found!r}")
    return float(found)


def parts_text(parts: Mapping[int, str]) -> str:
    """Return what `parts_of` reads."""
    return json.dumps({str(index): part for index, part in sorted(parts.items())}, separators=(",", ":"))
