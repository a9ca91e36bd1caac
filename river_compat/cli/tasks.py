"""`call`, `result` and `purge`: sends a task, shows its result, deletes waiting ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click

from river_compat.celery import Celery, states
from river_compat.celery.app.purging import TaskConsumer
from river_compat.celery.timing import as_utc
from river_compat.cli.application import application
from river_compat.cli.exits import Exit
from river_compat.cli.explaining import Standing, standing_of
from river_compat.cli.invocation import Invocation, takes_invocation
from river_compat.cli.worker import names_option


def _json(what: type, name: str) -> Callable[[click.Context, click.Parameter, str], Any]:
    def read(_context: click.Context, _option: click.Parameter, value: str) -> Any:
        try:
            found = json.loads(value)
        except ValueError as error:
            raise click.UsageError(f"{name} takes JSON: {error}") from error
        if not isinstance(found, what):
            raise click.UsageError(
                f"{name} takes a JSON {'array' if what is list else 'object'}, not {value}"
            )
        return found

    return read


def _time(_context: click.Context, _option: click.Parameter, value: str | None) -> Any:
    """Read an ISO time, or seconds as `expires` takes them."""
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return as_utc(value)
    except ValueError as error:
        raise click.UsageError(f"{value!r} is neither an ISO time nor a number of seconds") from error


@click.command()
@click.argument("name")
@click.option("-a", "--args", default="[]", callback=_json(list, "-a"), metavar="JSON", help="Arguments.")
@click.option(
    "-k", "--kwargs", default="{}", callback=_json(dict, "-k"), metavar="JSON", help="Keyword arguments."
)
@click.option("--eta", callback=_time, metavar="TIME", help="When to run, as an ISO time.")
@click.option("--countdown", type=float, metavar="SECONDS", help="How long to wait before it runs.")
@click.option(
    "--expires", callback=_time, metavar="TIME", help="When not to run any more: ISO time or seconds."
)
@click.option("--serializer", metavar="NAME", help="How the arguments are written.")
@click.option("--queue", metavar="NAME", help="In which queue.")
@click.option("--exchange", metavar="NAME", help="The same as --queue, where it is the queue's name.")
@click.option("--routing-key", metavar="NAME", help="The same as --queue, where it is the queue's name.")
@takes_invocation
def call(invocation: Invocation, name: str, args: list[Any], kwargs: dict[str, Any], **options: Any) -> int:
    """Send a task by its name, and print its id."""
    app = application(invocation)
    try:
        app.import_default_modules()
        given = {key: value for key, value in options.items() if value is not None}
        result = app.send_task(name, args, kwargs, **given)
    finally:
        app.close()
    click.echo(json.dumps({"id": result.id}) if invocation.as_json else result.id)
    return Exit.OK


@click.command()
@click.argument("task_id")
@click.option("-t", "--task", metavar="NAME", help="Name of the task, which is not needed here.")
@click.option("--traceback", is_flag=True, help="Show the traceback instead.")
@takes_invocation
def result(invocation: Invocation, task_id: str, task: str | None, traceback: bool) -> int:
    """Print the result of a task, or its state while it has none, and what it waits for."""
    del task
    app = application(invocation)
    try:
        app.import_default_modules()  # the classes of its exceptions are found in loaded modules only
        meta = _meta(app, task_id)
        standing = None if meta is None or meta["status"] in states.READY_STATES else _standing(app, task_id)
    finally:
        app.close()
    if meta is None:
        click.echo(f"there is no task {task_id}", err=True)
        return Exit.NOT_FOUND
    if invocation.as_json:
        shown = {**meta, "result": _plain(meta["result"])}
        told = {key: shown[key] for key in ("task_id", "status", "result", "traceback")}
        click.echo(json.dumps(told if standing is None else {**told, "row": standing.to_json()}))
    elif traceback:
        click.echo(meta["traceback"] or "")
    else:
        value = meta["result"]
        click.echo(meta["status"] if value is None and meta["status"] != "SUCCESS" else _shown(value))
        for line in standing.lines() if standing is not None else ():
            click.echo(f"  {line}")
    return Exit.OK


def _meta(app: Celery, task_id: str) -> Mapping[str, Any] | None:
    handle = app.AsyncResult(task_id)
    if not handle.exists():
        return None
    meta: Mapping[str, Any] = app.backend.get_task_meta(task_id)
    return meta


def _standing(app: Celery, task_id: str) -> Standing | None:
    rows = app.backend.find(task_id)
    return None if rows is None else standing_of(app.runtime.client, rows.newest)


def _shown(value: Any) -> str:
    return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value)


def _plain(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return _shown(value)
    return value


@click.command()
@click.option("-f", "--force", is_flag=True, help="Do not ask.")
@names_option("-Q", "--queues", text="Queues to empty [default: those of the settings].")
@names_option("-X", "--exclude-queues", text="Queues to leave.")
@takes_invocation
def purge(
    invocation: Invocation, force: bool, queues: tuple[str, ...], exclude_queues: tuple[str, ...]
) -> int:
    """Delete the waiting tasks of the application's queues. There is no way back."""
    app = application(invocation)
    try:
        names = [name for name in queues or app.queue_names() if name not in exclude_queues]
        if not force:
            click.confirm(f"Delete all waiting tasks of {', '.join(names)}?", abort=True)
        count = TaskConsumer(app, names).purge()
    finally:
        app.close()
    if invocation.as_json:
        click.echo(json.dumps({"purged": count, "queues": names}))
    elif count:
        click.echo(f"Purged {count} {'task' if count == 1 else 'tasks'} of {', '.join(names)}.")
    else:
        click.echo(f"No tasks purged from {', '.join(names)}")
    return Exit.OK
