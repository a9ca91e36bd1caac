"""Sends workflows: every step becomes a row, and all rows are written at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from river_compat.celery import _state, outgoing
from river_compat.celery.canvas.alike import Alike
from river_compat.celery.canvas.plan import Plan, Start, Step, trail
from river_compat.celery.outgoing import Batch
from river_compat.celery.sending import flush


def launch(app: Any, sig: Any, args: Any, kwargs: Any, options: Mapping[str, Any]) -> Any:
    """Send a frozen chain or group, and return its result."""
    _send(app, options, lambda plan, start: plan.add(sig, None, start), args, kwargs, sig)
    return sig.frozen


def launch_chord(
    app: Any, header: Any, body: Any, args: Any, kwargs: Any, options: Mapping[str, Any]
) -> None:
    """Send a frozen header and body."""
    _send(app, options, lambda plan, start: plan.chord(header, body, None, start), args, kwargs, header)


def _send(app: Any, options: Mapping[str, Any], add: Any, args: Any, kwargs: Any, first: Any) -> None:
    batch = outgoing.current()
    own = Batch() if batch is None else batch
    options = dict(options)
    add_to_parent = options.pop("add_to_parent", True)
    plan = Plan(own)
    add(plan, Start(args or (), kwargs or {}, options))
    send_steps(plan, own, app)
    if batch is None:
        flush(app, own)
    if add_to_parent:
        note_child(trail(first))


def note_child(result: Any) -> None:
    """Note the result of a workflow as a child of the task that sends it, if one does."""
    parent = _state.get_current_worker_frame()
    if parent is not None and parent.task.trail:
        parent.request.children.append(result)


def send_steps(plan: Plan, batch: Batch, app: Any) -> None:
    """Put the rows of a plan's steps into a batch, through the `apply_async` of their tasks."""
    alike = Alike(app, batch, len(plan.steps))
    with outgoing.collected(batch):
        for step in plan.steps:
            add_step(step, alike, app)


def add_step(step: Step, alike: Alike, app: Any) -> None:
    """Put the row of a step into the batch that is being collected, as one like it was made before."""
    if not alike.add(step):
        _send_step(step, app)
        alike.learn(step)


def _send_step(step: Step, app: Any) -> None:
    sig = step.sig
    if sig._app is None and sig._type is None:
        sig._app = app
    start = step.start
    sig.apply_async(start.args, start.kwargs, **{**start.options, outgoing.OPTION: step})
    if not step.is_sent:
        raise ValueError(
            f"apply_async of task {sig.task} sent nothing, so the workflow that it is a step of cannot be "
            "sent; an overridden apply_async must pass all options on"
        )
