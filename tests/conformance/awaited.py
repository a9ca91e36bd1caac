"""`AsyncClient` with the face of `Client`, so that one test states what both do.

Each call runs on one event loop, in the caller's context. Connections of the application are awaited ones
where the database has such a library.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any

import psycopg
import pytest

from river_core import ambient
from river_core.aio import AsyncClient
from river_core.drivers import open_async_driver
from tests.conformance.raw_connections import application_connection


class AwaitedConnection:
    """psycopg's AsyncConnection, used as a blocking one."""

    def __init__(self, raw: psycopg.AsyncConnection[Any], runner: asyncio.Runner) -> None:
        self.raw, self.runner = raw, runner

    def __getattr__(self, name: str) -> Any:
        """Return a method that awaits, or a plain attribute."""
        return _called(getattr(self.raw, name), self.runner)


class Awaited:
    """Makes clients and connections of the awaited kind for one test."""

    def __init__(self, url: str, runner: asyncio.Runner) -> None:
        self.url, self.runner = url, runner
        self.clients: list[AsyncClient] = []

    def client(self, driver: Any, **options: Any) -> Any:
        """Stands for `Client(driver, …)`."""
        made = AsyncClient(open_async_driver(self.url), **options)
        self.clients.append(made)
        return BlockingFace(made, self.runner)

    @contextmanager
    def connection(self, url: str, **options: Any) -> Iterator[Any]:
        """Stands for `application_connection`."""
        if url.startswith("sqlite"):
            with application_connection(url, **options) as blocking:
                yield blocking
            return
        raw = self.runner.run(psycopg.AsyncConnection.connect(url, **options))
        try:
            yield AwaitedConnection(raw, self.runner)
        finally:
            self.runner.run(raw.close())

    def close(self) -> None:
        """Close the clients."""
        for client in self.clients:
            self.runner.run(client.close())


class BlockingFace:
    """One AsyncClient, whose calls are made by `Client`'s names and return when they are done."""

    def __init__(self, client: AsyncClient, runner: asyncio.Runner) -> None:
        self.client, self.runner = client, runner

    def __getattr__(self, name: str) -> Any:
        """Return a method that awaits, or a plain attribute."""
        return _called(getattr(self.client, name), self.runner)


def _called(attribute: Any, runner: asyncio.Runner) -> Any:
    if not inspect.iscoroutinefunction(attribute):
        return attribute

    def call(*arguments: Any, **options: Any) -> Any:
        given = [_raw(argument) for argument in arguments]
        if runner.get_loop().is_running():  # a plugin, which AsyncClient calls in a thread
            return asyncio.run_coroutine_threadsafe(attribute(*given, **options), runner.get_loop()).result()
        return runner.run(attribute(*given, **options), context=contextvars.copy_context())

    return call


def _raw(value: Any) -> Any:
    return value.raw if isinstance(value, AwaitedConnection) else value


def _join(connection: Any) -> AbstractContextManager[None]:
    return ambient.join(_raw(connection))


@contextmanager
def awaited_names(module: ModuleType, url: str, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test module's `Client`, `join` and `application_connection` be of the awaited kind."""
    with asyncio.Runner() as runner:
        awaited = Awaited(url, runner)
        patch.setattr(module, "Client", awaited.client)
        patch.setattr(module, "join", _join, raising=False)
        patch.setattr(module, "application_connection", awaited.connection, raising=False)
        try:
            yield
        finally:
            awaited.close()
