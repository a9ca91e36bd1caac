"""Runs the plugins of one insert call around the write, inside its transaction (River: insertManyShared)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from river_core import validation
from river_core.errors import RiverError, ValidationError
from river_core.insert import InsertParams, InsertResult
from river_core.insert_options import check_params
from river_core.plugins import InsertOperation, PluginSet

Write = Callable[[Sequence[InsertParams]], list[InsertResult]]


def insert_with_plugins(
    plugins: PluginSet,
    rows: Sequence[InsertParams],
    lenient_queue_names: bool,
    write: Write,
    are_read: bool = True,
) -> list[InsertResult]:
    """Write rows by `write`, with what the plugins of their kinds make of them.

    Where the rows are not read back (`are_read` False), `insert_end` has nothing to see and is not called.
    Raises ValidationError for a row that a plugin has made unfit, and RiverError when a plugin does not
    return the results; the caller rolls back.
    """
    checked = {id(row) for row in rows}

    def operation(params: list[InsertParams]) -> list[InsertResult]:
        begun = [_begin(plugins, row) for row in params]
        for row in begun:
            if id(row) not in checked:
                _check(row, lenient_queue_names)
        results = write(begun)
        if not are_read:
            return results
        for row, result in zip(begun, results, strict=True):
            for hook in reversed(plugins.hooks(row.kind).insert_end):
                hook(result)
        return results

    outer: InsertOperation = operation
    for middleware in reversed(_middleware(plugins, (row.kind for row in rows))):
        outer = partial(_around, middleware, outer)
    return outer(list(rows))


def _middleware(plugins: PluginSet, kinds: Iterable[str]) -> list[Callable[..., Any]]:
    """Return those of the client, then those of each kind's task; each once."""
    found = (method for kind in dict.fromkeys(kinds) for method in plugins.hooks(kind).insert_many)
    return list(dict.fromkeys(found))


def _around(
    middleware: Callable[..., Any], operation: InsertOperation, params: list[InsertParams]
) -> list[InsertResult]:
    results = middleware(params, operation)
    if not isinstance(results, list) or not all(isinstance(item, InsertResult) for item in results):
        raise RiverError(
            f"{middleware.__qualname__} must call its operation and return the results, not {results!r}"
        )
    return results


def _begin(plugins: PluginSet, row: InsertParams) -> InsertParams:
    for hook in plugins.hooks(row.kind).insert_begin:
        changed = hook(row)
        if changed is None:
            continue
        if not isinstance(changed, InsertParams):
            raise ValidationError(f"{hook.__qualname__} must return InsertParams or None, not {changed!r}")
        row = changed
    return row


def _check(row: InsertParams, lenient_queue_names: bool) -> None:
    check_params(row, lenient_queue_names)
    validation.scheduled_at(row.scheduled_at)
    validation.json_object(f"args of kind {row.kind!r}", row.encoded_args)
    validation.json_object("metadata", row.encoded_metadata)
