"""What a client does with queues besides pausing them: metadata, names, and the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core.ambient import join
from river_core.client import Client
from river_core.db.notifications import MAX_POSTGRES_PAYLOAD_BYTES
from river_core.db.queues import queue_create_or_set_updated_at
from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.errors import NotFoundError, ValidationError
from tests.conformance.listening import heard_during
from tests.conformance.raw_connections import application_connection
from tests.runtime.stored import NOW, FixedClock
from tests.vectors import load

pytestmark = pytest.mark.usefixtures("either_client")

PER_QUEUE = {"a": 1, "b": "<é>"}


def add_queue(driver: Driver, name: str) -> None:
    """Make a queue known, as a worker does when it starts."""
    with driver.connect() as connection:
        connection.fetch(queue_create_or_set_updated_at(driver.sql, name, NOW))


def payloads(driver: Driver, action: Callable[[], object]) -> list[str]:
    """Return the texts that workers heard during an action."""
    return [item.payload for item in heard_during(driver, action)]


class TestUpdate:
    """`queue_update`."""

    def test_metadata_is_replaced_and_workers_are_told(self, driver: Driver) -> None:
        """Checklist 68. The row and the payload are those that Go leaves, to the byte."""
        add_queue(driver, "per_q")
        client = Client(driver, clock=FixedClock(NOW + timedelta(hours=1)))
        client.queue_update("per_q", metadata={"old": 1})
        heard = payloads(driver, lambda: client.queue_update("per_q", metadata=PER_QUEUE))
        [step] = [item for item in load("notifications.json")["steps"] if item["step"] == "metadata change"]
        assert heard == [item["payload"] for item in step["notifications"]]
        queue = client.queue_get("per_q")
        [recorded] = [item for item in load("rows.json")["scenarios"] if item["name"] == "metadata updated"]
        assert queue.metadata == recorded["rows"][0]["metadata"] == PER_QUEUE
        assert (queue.updated_at, queue.created_at) == (NOW + timedelta(hours=1), NOW)

    def test_a_pause_stays(self, driver: Driver) -> None:
        """Checklist 65. And other queues do, too."""
        add_queue(driver, "a")
        add_queue(driver, "b")
        client = Client(driver)
        client.queue_pause("a")
        paused_at = client.queue_get("a").paused_at
        assert client.queue_update("a", metadata={"x": 1}).paused_at == paused_at is not None
        assert client.queue_get("b").metadata == {}

    def test_without_metadata_only_the_time_moves(self, driver: Driver) -> None:
        """Checklist 68. Nobody is told; an empty object clears and is told."""
        add_queue(driver, "a")
        client = Client(driver)
        client.queue_update("a", metadata={"x": 1})
        later = Client(driver, clock=FixedClock(datetime(2027, 1, 1, tzinfo=UTC)))
        assert payloads(driver, lambda: later.queue_update("a")) == []
        queue = client.queue_get("a")
        assert (queue.metadata, queue.updated_at.year) == ({"x": 1}, 2027)
        heard = payloads(driver, lambda: client.queue_update("a", metadata={}))
        assert [json.loads(text) for text in heard] == [
            {"action": "metadata_changed", "metadata": {}, "queue": "a"}
        ]
        assert client.queue_get("a").metadata == {}

    @pytest.mark.parametrize("over", [0, 1])
    def test_what_postgres_cannot_send_is_sent_without_the_metadata(self, driver: Driver, over: int) -> None:
        """Checklist 68. Counted in bytes; the outbox of SQLite has no limit."""
        add_queue(driver, "a")
        frame = len('{"action":"metadata_changed","metadata":{"x":""},"queue":"a"}')
        text = "é" + "x" * (MAX_POSTGRES_PAYLOAD_BYTES - frame - 2 + over)
        client = Client(driver)
        [payload] = payloads(driver, lambda: client.queue_update("a", metadata={"x": text}))
        short = over and driver.sql.dialect is Dialect.POSTGRES
        whole = {"action": "metadata_changed", "metadata": {"x": text}, "queue": "a"}
        assert json.loads(payload) == ({"action": "metadata_changed", "queue": "a"} if short else whole)
        assert client.queue_get("a").metadata == {"x": text}

    @pytest.mark.parametrize("name", ["nowhere", "*"])
    def test_a_queue_that_nobody_worked_is_not_found(self, driver: Driver, name: str) -> None:
        """The star means no metadata; nobody is told."""
        add_queue(driver, "a")

        def update() -> None:
            with pytest.raises(NotFoundError):
                Client(driver).queue_update(name, metadata={"x": 1})

        assert payloads(driver, update) == []
        assert Client(driver).queue_get("a").metadata == {}

    @pytest.mark.parametrize(
        "metadata", ["{}", [1], {"x": object()}, {"x": "\x00"}], ids=["text", "list", "no JSON", "NUL"]
    )
    def test_metadata_is_an_object_that_can_be_stored(self, driver: Driver, metadata: Any) -> None:
        """Otherwise nothing is written."""
        add_queue(driver, "a")
        with pytest.raises(ValidationError):
            Client(driver).queue_update("a", metadata=metadata)
        assert Client(driver).queue_get("a").updated_at == NOW


def test_names_are_listed(driver: Driver) -> None:
    """In byte order, filtered and page by page."""
    for name in ("mail", "Mail_slow", "images", "a_b"):
        add_queue(driver, name)
    client = Client(driver)
    assert client.queue_name_list() == ["Mail_slow", "a_b", "images", "mail"]
    assert client.queue_name_list(limit=2) == ["Mail_slow", "a_b"]
    assert client.queue_name_list(after="a_b") == ["images", "mail"]
    assert client.queue_name_list(match="MAIL") == ["Mail_slow", "mail"]
    assert client.queue_name_list(match="_", exclude=["a_b"]) == ["Mail_slow"]
    for fields in ({"limit": 10_001}, {"exclude": "mail"}, {"match": None}):
        with pytest.raises(ValidationError):
            client.queue_name_list(**fields)


CHANGES: list[Any] = [
    pytest.param(lambda client, on: client.queue_pause_tx(on, "a"), id="pause"),
    pytest.param(lambda client, on: client.queue_resume_tx(on, "b"), id="resume"),
    pytest.param(lambda client, on: client.queue_update_tx(on, "a", metadata={"x": 1}), id="update"),
]
JOINED: list[Any] = [
    pytest.param(lambda client: client.queue_pause("a"), id="pause"),
    pytest.param(lambda client: client.queue_resume("b"), id="resume"),
    pytest.param(lambda client: client.queue_update("a", metadata={"x": 1}), id="update"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_belongs_to_the_given_transaction(
    driver: Driver, database_url: str, change: Callable[[Client, Any], object]
) -> None:
    """Seen inside, gone with a roll-back, kept by a commit; workers hear of it at the commit."""
    client = _with_queues(driver)
    before = client.queue_list()

    def roll_back_and_commit() -> None:
        with application_connection(database_url) as application:
            change(client, application)
            inside = client.queue_list_tx(application)
            assert inside == [client.queue_get_tx(application, name) for name in ("a", "b")]
            assert inside != before
            assert client.queue_list() == before
            application.rollback()
            assert client.queue_list() == before
            change(client, application)
            application.commit()

    assert len(payloads(driver, roll_back_and_commit)) == 1
    assert client.queue_list() != before


@pytest.mark.parametrize("change", JOINED)
def test_a_change_joins_the_transaction(
    driver: Driver, database_url: str, change: Callable[[Client], object]
) -> None:
    """As an insert does."""
    client = _with_queues(driver)
    before = client.queue_list()
    with application_connection(database_url) as application:
        with join(application):
            change(client)
            assert client.queue_list() != before
        application.rollback()
    assert client.queue_list() == before


def _with_queues(driver: Driver) -> Client:
    add_queue(driver, "a")
    add_queue(driver, "b")
    client = Client(driver)
    client.queue_pause("b")
    return client
