"""`app.control.inspect()`: questions to workers, which change nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from warnings import warn

import kombu.matcher

from river_compat.celery.exceptions import DuplicateNodenameWarning

Replies = list[dict[str, Any]]

matches: Any = kombu.matcher.match


def is_meant(request: Mapping[str, Any], hostname: str) -> bool:
    """Whether a command is for the worker or beat of a name: it is named, fits the pattern, or all are."""
    destination, pattern = request.get("destination"), request.get("pattern")
    if pattern and request.get("matcher"):
        return bool(matches(hostname, pattern, request["matcher"]))
    return not destination or hostname in destination


def flatten_reply(reply: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one mapping from worker to reply; warns where two workers have one name."""
    nodes: dict[str, Any] = {}
    doubled: set[str] = set()
    for item in reply:
        doubled.update(name for name in item if name in nodes)
        nodes.update(item)
    if doubled:
        names = "names" if len(doubled) > 1 else "name"
        warn(
            DuplicateNodenameWarning(
                f"Received multiple replies from node {names}: {', '.join(sorted(doubled))}."
                " Give each worker a name of its own with -n."
            ),
            stacklevel=2,
        )
    return nodes


class Inspect:
    """Asks all workers, some by name (`destination`), or those whose names match a pattern.

    Every question returns a mapping from worker to answer, or None when nobody answers in `timeout` seconds;
    for a destination that is one text, the answer alone.
    """

    app: Any = None

    def __init__(
        self,
        destination: Sequence[str] | str | None = None,
        timeout: float = 1.0,
        callback: Callable[[Any], Any] | None = None,
        connection: Any = None,
        app: Any = None,
        limit: int | None = None,
        pattern: str | None = None,
        matcher: str | None = None,
    ) -> None:
        """Take whom to ask, for how long, and after how many answers to stop."""
        self.app = app or self.app
        self.destination = destination
        self.timeout = timeout
        self.callback = callback
        self.connection = connection
        self.limit = limit
        self.pattern = pattern
        self.matcher = matcher

    def _prepare(self, reply: Replies | None) -> Any:
        if not reply:
            return None
        by_node = flatten_reply(reply)
        if isinstance(self.destination, str):
            return by_node.get(self.destination)
        if self.pattern:
            return {
                node: answer
                for node, answer in by_node.items()
                if matches(node, self.pattern, self.matcher or "glob")
            }
        return by_node

    def _request(self, command: str, **kwargs: Any) -> Any:
        return self._prepare(
            self.app.control.broadcast(
                command,
                arguments=kwargs,
                destination=self.destination,
                callback=self.callback,
                connection=self.connection,
                limit=self.limit,
                timeout=self.timeout,
                reply=True,
                pattern=self.pattern,
                matcher=self.matcher,
            )
        )

    def report(self) -> Any:
        """Versions and settings, as text."""
        return self._request("report")

    def clock(self) -> Any:
        """A number that grows with every request that a worker answers."""
        return self._request("clock")

    def active(self, safe: bool | None = None) -> Any:
        """The tasks that run, each with id, name, arguments, start and process."""
        return self._request("active", safe=safe)

    def scheduled(self, safe: bool | None = None) -> Any:
        """The first 1,000 tasks that wait for their time, told by one worker: they belong to none."""
        return self._request("scheduled")

    def reserved(self, safe: bool | None = None) -> Any:
        """The tasks that a worker has claimed and not begun."""
        return self._request("reserved")

    def stats(self) -> Any:
        """Facts about a worker: tasks taken by name, pool, process, use of the machine."""
        return self._request("stats")

    def revoked(self) -> Any:
        """The ids of revoked tasks that a worker remembers."""
        return self._request("revoked")

    def registered(self, *taskinfoitems: str) -> Any:
        """The names of the tasks that a worker knows, with these attributes."""
        return self._request("registered", taskinfoitems=taskinfoitems)

    registered_tasks = registered

    def ping(self, destination: Sequence[str] | str | None = None) -> Any:
        """Ask for `pong`."""
        if destination:
            self.destination = destination
        return self._request("ping")

    def active_queues(self) -> Any:
        """The queues that a worker works."""
        return self._request("active_queues")

    def query_task(self, *ids: Any) -> Any:
        """Which of these tasks a worker has, each with its state and facts."""
        if len(ids) == 1 and isinstance(ids[0], list | tuple):
            ids = ids[0]  # type: ignore[assignment]
        return self._request("query_task", ids=ids)

    def conf(self, with_defaults: bool = False) -> Any:
        """The settings of a worker, without secrets."""
        return self._request("conf", with_defaults=with_defaults)

    def hello(self, from_node: str, revoked: Any = None) -> Any:
        """The clock of a worker, and what it knows as revoked."""
        return self._request("hello", from_node=from_node, revoked=revoked)

    def memsample(self) -> Any:
        """How much memory a worker's process holds, as text."""
        return self._request("memsample")

    def memdump(self, samples: int = 10) -> Any:
        """Refused: take a profile of the worker's process from outside."""
        return self._request("memdump", samples=samples)

    def objgraph(self, type: str = "Request", n: int = 200, max_depth: int = 10) -> Any:  # noqa: A002
        """Refused: take a profile of the worker's process from outside."""
        return self._request("objgraph", num=n, max_depth=max_depth, type=type)
