"""The queues of an application by name, as kombu's objects (`celery.app.amqp.Queues`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import kombu.entity

from river_compat.celery.app.topics import refuse_several
from river_compat.celery.utils.text import indent as indented

Queue: Any = kombu.entity.Queue
Exchange: Any = kombu.entity.Exchange

LINE = ".> {0:<16} exchange={1}({2}) key={3}"


class Queues(dict[str, Any]):
    """Queues by name. A missing one is made at its first use, unless `create_missing` is off.

    Nothing is declared anywhere: a queue is a name in a row.
    """

    def __init__(
        self,
        queues: Any = None,
        default_exchange: Any = None,
        create_missing: bool | None = None,
        **settings: Any,
    ) -> None:
        """Take queues as kombu's objects or names, or options by name; other settings are RabbitMQ's."""
        super().__init__()
        del settings
        self.create_missing = True if create_missing is None else create_missing
        self.default_exchange = default_exchange
        self._consume_from: dict[str, Any] | None = None
        given = queues.items() if isinstance(queues, Mapping) else ((queue, {}) for queue in queues or ())
        for queue, options in given:
            self.add(queue, **(options if isinstance(options, Mapping) else {}))

    def __missing__(self, name: str) -> Any:
        """Make a queue that nobody has declared; raises KeyError where that is off."""
        if not self.create_missing:
            raise KeyError(name)
        return self.add(self.new_missing(name))

    def new_missing(self, name: str) -> Any:
        """Return a queue for a name."""
        return Queue(name, self.default_exchange or Exchange(name), name)

    def add(self, queue: Any, **options: Any) -> Any:
        """Add a queue; raises UnsupportedFeature for one that several workers would get copies from."""
        if not isinstance(queue, Queue):
            queue = self._made(queue, options)
        refuse_several(queue)
        if queue.exchange is not None and not queue.exchange.name and self.default_exchange is not None:
            queue.exchange = self.default_exchange
        if not queue.routing_key:
            queue.routing_key = queue.name
        self[queue.name] = queue
        return queue

    def add_compat(self, name: str, **options: Any) -> Any:
        """Add a queue by options, in which `binding_key` may stand for `routing_key`."""
        return self.add(name, **options)

    def _made(self, name: str, options: Mapping[str, Any]) -> Any:
        exchange = options.get("exchange") or options.get("binding") or name
        key = options.get("routing_key") or options.get("binding_key") or name
        kind = options.get("exchange_type") or "direct"
        exchange = exchange if isinstance(exchange, Exchange) else Exchange(exchange, type=kind)
        return Queue(name, exchange, key)

    @property
    def consume_from(self) -> dict[str, Any]:
        """The queues that are worked: those selected, else all."""
        return self if self._consume_from is None else self._consume_from

    def select(self, include: str | Iterable[str]) -> None:
        """Work these queues only."""
        names = [include] if isinstance(include, str) else list(include or ())
        if names:
            self._consume_from = {name: self[name] for name in names}

    def deselect(self, exclude: str | Iterable[str]) -> None:
        """Do not work these queues."""
        names = {exclude} if isinstance(exclude, str) else set(exclude or ())
        self._consume_from = {name: queue for name, queue in self.consume_from.items() if name not in names}

    def select_add(self, queue: Any, **options: Any) -> Any:
        """Work one queue more."""
        added = self.add(queue, **options)
        if self._consume_from is not None:
            self._consume_from[added.name] = added
        return added

    def format(self, indent: int = 0, indent_first: bool = True) -> str:
        """Return the queues that are worked, a line each."""
        lines = [
            LINE.format(name, queue.exchange.name, queue.exchange.type, queue.routing_key)
            for name, queue in sorted(self.consume_from.items())
        ]
        if not lines:
            return ""
        text = indented("\n".join(lines), indent)
        return text if indent_first else text.lstrip()
