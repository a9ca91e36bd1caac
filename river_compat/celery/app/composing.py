"""What a task has for workflows: its signatures, and to put another task in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from river_compat.celery import _state, outgoing
from river_compat.celery.exceptions import Ignore, ImproperlyConfigured
from river_compat.celery.outgoing import Batch
from river_compat.celery.replacing import REPLACEMENT, replacement_rows
from river_compat.celery.workflow_calls import FEEDS_OF_CHORD
from river_core.links import feeds_of


class Composing:
    """The part of `Task` that makes signatures."""

    app: Any
    name: Any
    request: Any
    trail: bool

    # -- signatures

    def signature(self, args: Any = None, *rest: Any, **options: Any) -> Any:
        """Return a signature of the task; takes what `Signature` takes after the task."""
        from river_compat.celery.canvas.signature import signature

        options.setdefault("app", self.app)
        return signature(self, args, *rest, **options)

    subtask = signature

    def s(self, *args: Any, **kwargs: Any) -> Any:
        """Return a signature with these arguments."""
        return self.signature(args, kwargs)

    def si(self, *args: Any, **kwargs: Any) -> Any:
        """Return a signature with these arguments and none that come later."""
        return self.signature(args, kwargs, immutable=True)

    def map(self, it: Any) -> Any:
        """Return one task that calls this one for each item."""
        from river_compat.celery.canvas.maps import xmap

        return xmap(self.s(), it, app=self.app)

    def starmap(self, it: Any) -> Any:
        """Return one task that calls this one with each item's items."""
        from river_compat.celery.canvas.maps import xstarmap

        return xstarmap(self.s(), it, app=self.app)

    def chunks(self, it: Any, n: int) -> Any:
        """Return a group of tasks that call this one for `n` items each."""
        from river_compat.celery.canvas.maps import chunks

        return chunks(self.s(), it, n, app=self.app)

    def signature_from_request(
        self,
        request: Any = None,
        args: Any = None,
        kwargs: Any = None,
        queue: str | None = None,
        **extra: Any,
    ) -> Any:
        """Return a signature that would run the task again as the request has it."""
        request = self.request if request is None else request
        delivery = request.delivery_info or {}
        options = {
            **_options_of(request),
            "ignore_result": request.effective_ignore_result(getattr(self, "ignore_result", None)),
            **extra,
        }
        if delivery.get("priority") is not None:
            options["priority"] = delivery["priority"]
        options.update(_way(queue, delivery))
        args = request.args if args is None else args
        kwargs = request.kwargs if kwargs is None else kwargs
        return self.signature(args, kwargs, options, type=self, **extra)

    subtask_from_request = signature_from_request

    def add_trail(self, result: Any) -> Any:
        """Note a result as a child of the running task, unless `trail` is off; returns it."""
        if self.trail:
            self.request.children.append(result)
        return result

    # -- taking part

    def replace(self, sig: Any) -> Any:
        """End the task here and let another, or a workflow, take over its id and all that waits for it.

        Always raises Ignore, but in eager mode, where the value is returned. Raises ImproperlyConfigured
        for an empty chain and for a signature that is in a chord already.
        """
        from river_compat.celery.canvas import algebra
        from river_compat.celery.canvas.ends import with_one_end

        request = self.request
        if "chord" in sig.options:
            raise ImproperlyConfigured("what replaces a task must not be in a chord already")
        if algebra.is_chain(sig) and not sig.tasks:
            raise ImproperlyConfigured("Cannot replace with an empty chain: the task would never end")
        sig = with_one_end(sig, self.app)
        for callback in request.callbacks or ():
            sig.link(callback)
        for errback in request.errbacks or ():
            sig.link_error(errback)
        sig.freeze(request.id)
        nesting = (request.replaced_task_nesting or 0) + 1
        sig.set(
            chord={**request.chord, FEEDS_OF_CHORD: []} if request.chord else None,
            group_id=request.group,
            group_index=request.group_index,
            root_id=request.root_id,
            replaced_task_nesting=nesting,
        )
        for task in sig.tasks if algebra.is_chain(sig) else ():
            task.set(replaced_task_nesting=nesting)
        return self.on_replace(sig)

    def on_replace(self, sig: Any) -> Any:
        """Called last by `replace()`; may be overridden, and then called for what it does."""
        request = self.request
        if request.is_eager:
            with _state.join_allowed(True):
                return sig.apply().get()
        if request.__dict__.get("_row") is None:
            sig.delay()
            raise Ignore("Replaced by new task")
        batch = Batch()
        with outgoing.collected(batch):
            sig.delay()
        request.__dict__[REPLACEMENT] = replacement_rows(batch, request)
        raise Ignore("Replaced by new task")

    def add_to_chord(self, sig: Any, lazy: bool = False) -> Any:
        """Let the chord that this task is in wait for one more task; returns its result.

        With `lazy` it is not sent, but returned to be sent. Raises ValueError outside of a chord.
        """
        request = self.request
        if not request.chord:
            raise ValueError("Current task is not member of any chord")
        row = request.__dict__.get("_row")
        targets = [target for target, _ in feeds_of(row.metadata)] if row is not None else []
        sig.set(
            group_id=request.group,
            group_index=request.group_index,
            chord={**request.chord, FEEDS_OF_CHORD: targets},
            root_id=request.root_id,
        )
        sig.freeze()
        return sig if lazy else sig.delay()


_EXECUTION = (
    "root_id",
    "parent_id",
    "group_index",
    "shadow",
    "chord",
    "chain",
    "expires",
    "headers",
    "retries",
    "reply_to",
    "replaced_task_nesting",
    "origin",
)


def _options_of(request: Any) -> dict[str, Any]:
    """Return the options by which a call would have the fields of a request."""
    options = {name: getattr(request, name) for name in _EXECUTION}
    options |= {"task_id": request.id, "group_id": request.group}
    options |= {"link": request.callbacks, "link_error": request.errbacks}
    if options["headers"]:
        headers = options["headers"].items()
        options["headers"] = {name: value for name, value in headers if not _of_broker(name)}
    stamps = request.stamps or {}
    options |= {name: stamps.get(name) for name in request.stamped_headers or ()}
    options["stamped_headers"] = request.stamped_headers
    return options


def _way(queue: str | None, delivery: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options by which a call goes where another came from."""
    exchange, routing_key = delivery.get("exchange"), delivery.get("routing_key")
    if queue:
        return {"queue": queue}
    if exchange:
        return {"exchange": exchange, "routing_key": routing_key}
    return {"queue": routing_key} if routing_key else {}


def _of_broker(header: str) -> bool:
    """Whether a header tells of RabbitMQ's dead letters, which must not make a cycle of retries."""
    return header.lower().startswith(("x-death", "x-first-death", "x-last-death"))


def is_waiting(options: Mapping[str, Any]) -> bool:
    """Whether a call is a step that will get more arguments when it runs."""
    step = options.get(outgoing.OPTION)
    return step is not None and bool(step.before)
