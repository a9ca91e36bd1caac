"""`app.amqp`: queues and routes by Celery's names; there is no broker behind them (`celery.app.amqp`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import kombu.entity

from river_compat.celery.app import queues as named_queues
from river_compat.celery.app import routes as named_routes
from river_compat.celery.exceptions import UnsupportedAttribute, unsupported_text
from river_compat.celery.refused_names import refusing

__all__ = ["AMQP", "Queues", "Router"]

Queues = named_queues.Queues
Router = named_routes.Router

NO_BROKER = "there is no broker; tasks are rows, so send them with apply_async or send_task"


class AMQP:
    """What an application's settings say about queues and routes."""

    Queues: Any = named_queues.Queues
    Router: Any = named_routes.Router

    def __init__(self, app: Any) -> None:
        """Belong to an application; its settings are read at the first use."""
        self.app = app
        self._given: named_queues.Queues | None = None
        self._made: tuple[Any, named_queues.Queues] | None = None
        self._router: tuple[Any, Any, named_routes.Router] | None = None

    @property
    def default_exchange(self) -> Any:
        """The exchange of queues that name none."""
        conf = self.app.conf
        exchange: Any = kombu.entity.Exchange
        name = conf.task_default_exchange or conf.task_default_queue
        return exchange(name, type=conf.task_default_exchange_type)

    @property
    def default_queue(self) -> Any:
        """The queue of tasks that no route and no call gives another one."""
        return self.queues[self.app.conf.task_default_queue]

    @property
    def queues(self) -> named_queues.Queues:
        """The queues of `task_queues`, or the default one, by name; may be set."""
        if self._given is not None:
            return self._given
        conf = self.app.conf
        facts = (conf.task_queues, conf.task_default_queue, conf.task_create_missing_queues)
        if self._made is None or self._made[0] != facts:
            self._made = (facts, self._queues(*facts))
        return self._made[1]

    @queues.setter
    def queues(self, queues: named_queues.Queues) -> None:
        self._given = queues

    def _queues(self, queues: Any, default_queue: str, create_missing: bool) -> named_queues.Queues:
        made = named_queues.Queues(queues, None, create_missing)
        if not queues:
            made.add(default_queue)
        return made

    @property
    def routes(self) -> Any:
        """The routers of `task_routes`."""
        return self.router.routes

    @property
    def router(self) -> named_routes.Router:
        """Finds the options that a task's name gives its calls."""
        given, queues = self.app.conf.task_routes, self.queues
        if self._router is None or self._router[0] is not given or self._router[1] is not queues:
            made = named_routes.Router(
                named_routes.prepare(given), queues, self.app.conf.task_create_missing_queues, self.app
            )
            self._router = (given, queues, made)
        return self._router[2]

    def flush_routes(self) -> None:
        """Read `task_routes` again at the next use, after it was changed in place."""
        self._router = None

    def __getattr__(self, name: str) -> Any:
        """Refuse by name what belongs to a broker."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnsupportedAttribute(unsupported_text(f"app.amqp.{name}", NO_BROKER))


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
