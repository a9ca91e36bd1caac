"""Tasks that workflows are made of, and a worker that runs them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from river_compat.celery import Celery
from river_compat.celery.exceptions import Ignore
from tests.runtime.celery.conftest import app, working

__all__ = ["app", "tasks", "working"]


@pytest.fixture
def tasks(app: Celery) -> SimpleNamespace:
    """The tasks; `said` collects what `say` was called with, in order."""
    said: list[Any] = []

    @app.task
    def add(x: Any, y: Any) -> Any:
        return x + y

    @app.task
    def xsum(numbers: Any) -> Any:
        return sum(numbers)

    @app.task
    def identity(value: Any) -> Any:
        return value

    @app.task
    def fail(*args: Any) -> None:
        raise ValueError("no", *args)

    @app.task
    def ignore(*args: Any) -> None:
        raise Ignore

    @app.task
    def say(value: Any) -> Any:
        said.append(value)
        return value

    @app.task(bind=True)
    def facts(self: Any, *args: Any) -> Any:
        request = self.request
        names = ("id", "root_id", "parent_id", "group", "group_index", "replaced_task_nesting")
        return {name: getattr(request, name) for name in names} | {"args": args}

    return SimpleNamespace(
        add=add, xsum=xsum, identity=identity, fail=fail, ignore=ignore, say=say, facts=facts, said=said
    )
