"""`worker -B`: a beat beside the worker. Every worker of a fleet may have one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any

import click

from river_compat.celery import Celery
from river_compat.celery.beat_service import EmbeddedBeat
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.cli.scheduler_options import scheduler_options

Command = Callable[..., Any]
BesideBeat = Callable[[Celery], AbstractContextManager[None]]


def beat_options(command: Command) -> Command:
    """Add `-B`, `--scheduler` and `-s`; the command gets `beside_beat`, which runs a beat for a block."""

    @wraps(command)
    def run(*args: Any, beat: bool, scheduler: str | None, **options: Any) -> Any:
        def beside_beat(app: Celery) -> AbstractContextManager[None]:
            return _beside_beat(app, beat, scheduler)

        return command(*args, beside_beat=beside_beat, **options)

    text = "Send periodic tasks, too; any number of workers may."
    return click.option("-B", "--beat", is_flag=True, help=text)(scheduler_options()(run))


@contextmanager
def _beside_beat(app: Celery, wanted: bool, scheduler: str | None) -> Iterator[None]:
    if not wanted:
        yield
        return
    beat = EmbeddedBeat(app, scheduler_cls=scheduler)
    try:
        beat.service.scheduler  # noqa: B018 - what is wrong with it shows before anything runs
    except ImproperlyConfigured as error:
        raise click.UsageError(str(error)) from error
    beat.start()
    try:
        yield
    finally:
        beat.stop()
