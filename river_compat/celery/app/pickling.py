"""Pickles an application by its settings: what was set in code, and where the rest is read from."""

from __future__ import annotations

from typing import Any


def reduced(app: Any) -> tuple[Any, ...]:
    """Return what `__reduce__` returns: the class, and keywords to make the application again."""
    return restored, (type(app), app.__reduce_keys__())


def keywords(app: Any) -> dict[str, Any]:
    """Return the keywords that make an application like this one; added defaults do not travel."""
    return {
        "main": app.main,
        "changes": app.conf.as_set(),
        "namespace": app.namespace,
        "config": app.conf.source_given,
        "task_cls": app.task_cls if isinstance(app.task_cls, str) else None,
    }


def restored(cls: Any, given: dict[str, Any]) -> Any:
    """Make the application of a pickle; it does not become the current one."""
    source, silent = given.pop("config")
    app = cls(given.pop("main"), set_as_current=False, **given)
    if source is not None:
        app.config_from_object(source, silent=silent)
    return app
