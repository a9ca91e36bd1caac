"""`river-compat doctor`: what of an application would be lost or would not run, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

import click

from river_compat.celery import Celery
from river_compat.celery.doctor import Finding, examine_scheduler, examine_tasks
from river_compat.cli.application import application, place_of_application
from river_compat.cli.boot import check_schema
from river_compat.cli.exits import Exit
from river_compat.cli.invocation import Invocation, takes_invocation
from river_compat.cli.scheduler_options import scheduler_options


@click.command()
@scheduler_options("-S")
@takes_invocation
def doctor(invocation: Invocation, scheduler: str | None) -> int:
    """Examine the scheduler and the waiting tasks of an application. The exit status is 1 with a finding."""
    app = application(invocation)
    found: list[Finding] = []
    try:
        for finding in _examine(app, scheduler):
            found.append(finding)
            if not invocation.as_json:
                click.echo(str(finding))
    finally:
        app.close()
    findings = [finding for finding in found if not finding.is_note]
    if invocation.as_json:
        click.echo(json.dumps([asdict(finding) for finding in found]))
    else:
        click.echo(f"{len(findings)} finding{'' if len(findings) == 1 else 's'}")
    return Exit.FAILED if findings else Exit.OK


def _examine(app: Celery, scheduler: str | None) -> Iterator[Finding]:
    app.set_current()
    app.set_default()
    app.import_default_modules()
    app.finalize()
    yield from examine_scheduler(app, scheduler)
    check_schema(app.runtime.driver, place_of_application(app))
    yield from examine_tasks(app)
