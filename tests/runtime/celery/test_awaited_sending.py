"""`await task.adelay()` in the transactions of coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import sessionmaker
from sqlalchemy.pool import NullPool

import river_core
from river_compat.celery import Celery
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.sqlalchemy import watch
from tests import django_settings
from tests.conformance.applications import engine, engine_url
from tests.runtime.celery.rows import rows_of

Send = Callable[[Any, Any], Awaitable[Any]]


@asynccontextmanager
async def bound(url: str) -> AsyncIterator[AsyncEngine]:
    """An engine of the application's own for coroutines."""
    made = create_async_engine(engine_url(url).replace("sqlite:", "sqlite+aiosqlite:"), poolclass=NullPool)
    try:
        yield made
    finally:
        await made.dispose()


@asynccontextmanager
async def watched_session(bind: AsyncEngine) -> AsyncIterator[AsyncSession]:
    """A watched session."""
    sessions = async_sessionmaker(bind)
    watch(sessions)
    async with sessions() as session:
        yield session


async def joined(task: Any, owner: Any) -> Any:
    """Send inside a block."""
    with river_core.join(owner):
        return await task.adelay(7)


async def named(task: Any, owner: Any) -> Any:
    """Send with the owner in the call."""
    return await task.aapply_async((7,), connection=owner)


async def bare(task: Any, owner: Any) -> Any:
    """Send with nothing said: the session is watched."""
    return await task.adelay(7)


WAYS = [(AsyncEngine.connect, joined), (AsyncEngine.connect, named), (AsyncSession, joined)]
WAYS += [(AsyncSession, named), (watched_session, bare)]


@pytest.mark.parametrize(("opened", "send"), WAYS)
def test_a_row_is_part_of_an_awaited_transaction(
    app: Celery, database_url: str, opened: Any, send: Send
) -> None:
    """Row 3.25. It is written at once: the handle knows it, and a rollback takes it back."""
    task = app.task(lambda x: x, name="work", shared=False)

    async def scenario() -> list[list[str]]:
        ids: list[list[str]] = []
        async with bound(database_url) as bind, opened(bind) as owner:
            for end in (owner.rollback, owner.commit):
                await owner.execute(text("SELECT 1"))
                result = await send(task, owner)
                with pytest.raises(RuntimeError, match="not committed"):
                    result.get(timeout=60)
                count = text("SELECT count(*) FROM river_job WHERE state = 'available'")
                assert (await owner.execute(count)).scalar() == 1
                await end()
                ids.append([str(row.id) for row in await asyncio.to_thread(rows_of, app, result.id)])
        return ids

    rolled_back, committed = asyncio.run(scenario())
    assert (rolled_back, len(committed)) == ([], 1)


def test_a_session_that_blocks_is_joined_in_its_own_thread(app: Celery, database_url: str) -> None:
    """As `delay` joins it, in a coroutine, too; libraries let no other thread use its connection."""
    task = app.task(lambda x: x, name="work", shared=False)
    with engine(database_url) as bind:
        sessions = sessionmaker(bind)
        watch(sessions)

        async def scenario() -> Any:
            with sessions() as session:
                session.connection()
                result = await task.adelay(7)
                session.rollback()
                return result

        assert rows_of(app, asyncio.run(scenario()).id) == []


@pytest.mark.postgres
def test_a_call_of_its_own_stays_outside(postgres_url: str, postgres_driver: PsycopgDriver) -> None:
    """`river_enqueue_in="own"`, beside the loop; on SQLite the open transaction would keep it waiting."""
    app = Celery("own", set_as_current=False, river_driver=postgres_driver)
    task = app.task(lambda x: x, name="work", shared=False)

    async def scenario() -> Any:
        async with bound(postgres_url) as bind, watched_session(bind) as session:
            await session.execute(text("SELECT 1"))
            result = await task.aapply_async((7,), river_enqueue_in="own")
            await session.rollback()
            return result

    assert len(rows_of(app, asyncio.run(scenario()).id)) == 1
    app.close()


def test_what_cannot_be_sent_raises_in_the_coroutine(app: Celery, database_url: str) -> None:
    """And the transaction goes on."""
    task = app.task(lambda x: x, name="work", shared=False)

    async def scenario() -> Any:
        async with bound(database_url) as bind, watched_session(bind) as session:
            await session.execute(text("SELECT 1"))
            with pytest.raises(TypeError):
                await task.adelay()
            result = await task.adelay(7)
            await session.commit()
            return result

    assert len(rows_of(app, asyncio.run(scenario()).id)) == 1


def test_a_coroutine_of_django_joins_the_transaction_of_its_thread(app: Celery, database_url: str) -> None:
    """As Django's own awaited calls do: that of an `atomic` block, or of a `TestCase`."""
    with django_settings.alias("default", database_url):
        from river_core.drivers.django import DjangoDriver  # needs the settings

        shop = Celery("shop", set_as_current=False, river_driver=DjangoDriver())
        task = shop.task(lambda x: x, name="work", shared=False)

        async def send() -> Any:
            return await task.adelay(7)

        with transaction.atomic():
            result = async_to_sync(send)()
            transaction.set_rollback(True)
        assert rows_of(app, result.id) == []
        assert len(rows_of(app, async_to_sync(send)().id)) == 1
        shop.close()
