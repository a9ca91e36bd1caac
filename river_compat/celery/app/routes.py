"""`task_routes`: which options, above all which queue, a task's name gives its calls (`celery.app.routes`).

Routers are asked in order until one answers. What a call gives itself wins over the answer.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from fnmatch import translate
from typing import Any

from river_compat.celery.app.queues import Queues
from river_compat.celery.exceptions import QueueNotFound
from river_compat.celery.utils.collections import lpmerge
from river_compat.celery.utils.functional import maybe_evaluate, mlazy
from river_compat.celery.utils.imports import symbol_by_name

__all__ = ["MapRoute", "Router", "expand_router_string", "prepare"]

Options = Mapping[str, Any]


class MapRoute:
    """Routes by name, by a pattern with `*`, or by a regular expression; exact names are looked at first."""

    def __init__(self, map: Any) -> None:  # noqa: A002 - the name is Celery's
        """Take a mapping or pairs; a value is a queue's name or options."""
        items: Iterable[tuple[Any, Any]] = map.items() if isinstance(map, Mapping) else map
        self.map: dict[str, Any] = {}
        self.patterns: OrderedDict[re.Pattern[str], Any] = OrderedDict()
        for key, route in items:
            if isinstance(key, re.Pattern):
                self.patterns[key] = route
            elif "*" in key:
                self.patterns[re.compile(translate(key))] = route
            else:
                self.map[key] = route

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """Return the options for a task's name, or None."""
        route = self.map.get(name)
        if route is None:
            route = next((found for pattern, found in self.patterns.items() if pattern.match(name)), None)
        if route is None:
            return None
        return {"queue": route} if isinstance(route, str) else dict(route)


class Router:
    """Asks the routers of an application, and turns names of queues into queues."""

    def __init__(
        self, routes: Any = None, queues: Any = None, create_missing: bool = False, app: Any = None
    ) -> None:
        """Take what `prepare` returned, and the queues by name."""
        self.app = app
        self.queues = {} if queues is None else queues
        self.routes = [] if routes is None else routes
        self.create_missing = create_missing

    def route(
        self, options: Options, name: str, args: Any = (), kwargs: Any = None, task_type: Any = None
    ) -> dict[str, Any]:
        """Return the options of a call with what its route adds, `queue` as a queue.

        Raises QueueNotFound.
        """
        merged = lpmerge(self.lookup(name, args, kwargs or {}, options, task_type) or {}, options)
        if merged.get("queue") is None:
            merged["queue"] = self.app.conf.task_default_queue
        return self.expand_destination(merged)

    def lookup(
        self, name: str, args: Any, kwargs: Any, options: Options, task_type: Any = None
    ) -> dict[str, Any] | None:
        """Return the options that the first router with an answer gives, or None."""
        for router in self.routes:
            answer = self.query_router(router, name, args, kwargs, options, task_type)
            if answer is not None:
                return {"queue": answer} if isinstance(answer, str) else dict(answer)
        return None

    lookup_route = lookup

    def query_router(
        self, router: Any, task: str, args: Any, kwargs: Any, options: Options, task_type: Any
    ) -> Any:
        """Return what one router answers for a task's name: a queue's name, options, or None."""
        router = maybe_evaluate(router)
        if hasattr(router, "route_for_task"):
            return router.route_for_task(task, args, kwargs)
        return router(task, args, kwargs, options, task=task_type)

    def expand_destination(self, route: Any) -> dict[str, Any]:
        """Return a route as options whose `queue` is a queue; raises QueueNotFound."""
        options = {"queue": route} if isinstance(route, str) else dict(route)
        queue = options.get("queue")
        if isinstance(queue, str):
            options["queue"] = self._queue(queue)
        return options

    def _queue(self, name: str) -> Any:
        if name in self.queues or self.create_missing or getattr(self.queues, "create_missing", False):
            return self.queues[name] if isinstance(self.queues, Queues) else self.queues.get(name, name)
        raise QueueNotFound(f"queue {name!r} is not in task_queues, and task_create_missing_queues is off")


def expand_router_string(router: Any) -> Any:
    """Return the router that a path names; a class is made into an object."""
    found = symbol_by_name(router)
    makes_router = isinstance(found, type) or hasattr(found, "route_for_task")
    return found() if makes_router and callable(found) else found


def prepare(routes: Any) -> list[Any]:
    """Return `task_routes` as a list of routers: mappings, functions, objects, and paths to those."""
    if routes is None:
        return []
    items = routes if isinstance(routes, list | tuple) else (routes,)
    return [_prepared(item) for item in items]


def _prepared(item: Any) -> Any:
    if isinstance(item, Mapping | list):
        return MapRoute(item)
    return mlazy(expand_router_string, item) if isinstance(item, str) else item
