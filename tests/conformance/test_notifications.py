"""Notifications: sent with a commit, heard by a connection of their own."""

from __future__ import annotations

import json
import threading
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from river_core.client import Client
from river_core.db import notifications
from river_core.db.notifications import TOPIC_CONTROL, TOPIC_INSERT, notify_many
from river_core.db.queues import queue_create_or_set_updated_at
from river_core.db.statement import Statement
from river_core.drivers.base import Driver, Notification
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.sqlite import SqliteDriver
from river_core.drivers.sqlite_listener import SqliteListener
from river_core.errors import DatabaseError, OperationalError, RejectedValueError
from river_core.insert import EncodedArgs, InsertManyParams, InsertOpts, InsertParams
from river_core.inserting import InsertNotifyLimiter
from river_core.notifier import decode_payload
from river_core.worker.elector import Elector
from tests.conformance.listening import DEADLINE, hear, listening, send
from tests.conformance.raw_connections import application_connection, fetch
from tests.databases import migrate
from tests.vectors import load

QUIET = 0.05
"""Seconds in which nothing may arrive; what was sent before has been heard by then or was never sent."""

ARGS = EncodedArgs("some_kind", "{}")


def test_topics_and_payloads_are_rivers() -> None:
    """Checklist 52. The constants are the ones that other clients use."""
    known = load("upstream/fixtures/protocol_values.json")["notifications"]
    samples = {(item["topic"], item["payload"].get("action")): item["payload"] for item in known}
    ours = {
        ("river_insert", None): notifications.insert_payload("default"),
        ("river_control", "cancel"): notifications.cancel_payload(42, "default"),
        ("river_control", "pause"): notifications.pause_payload("default"),
        ("river_control", "resume"): notifications.resume_payload("default"),
    }
    for key, payload in ours.items():
        assert json.loads(payload).keys() == samples[key].keys()
        assert json.loads(payload).get("action") == samples[key].get("action")
    assert (notifications.TOPIC_INSERT, notifications.TOPIC_CONTROL) == ("river_insert", "river_control")


def test_a_listener_hears_its_topics_in_order(driver: Driver) -> None:
    """Other topics pass it by, and the topic carries no schema."""
    with listening(driver, TOPIC_INSERT, TOPIC_CONTROL) as listener:
        send(driver, TOPIC_INSERT, "one", "two")
        send(driver, "river_leadership", "not for us")
        send(driver, TOPIC_INSERT, "three")
        heard = hear(driver, listener)
    assert heard == [Notification(TOPIC_INSERT, text) for text in ("one", "two", "three")]


def test_what_was_sent_before_is_not_heard(driver: Driver) -> None:
    """Checklist 56. A listener starts with what comes after it."""
    send(driver, TOPIC_INSERT, "before")
    with listening(driver, TOPIC_INSERT, TOPIC_CONTROL) as listener:
        assert hear(driver, listener) == []


def test_every_listener_hears_everything_once(driver: Driver) -> None:
    """Checklist 56. Listeners do not take from each other."""
    with (
        listening(driver, TOPIC_INSERT, TOPIC_CONTROL) as one,
        listening(driver, TOPIC_INSERT, TOPIC_CONTROL) as other,
    ):
        send(driver, TOPIC_INSERT, "x")
        send(driver, TOPIC_CONTROL, "mark")
        for listener in (one, other):
            heard: list[Notification] = []
            while not heard or heard[-1].payload != "mark":
                more = listener.wait(DEADLINE)
                assert more, "nothing arrived in time"
                heard += more
            assert [item.payload for item in heard] == ["x", "mark"]


def test_a_notification_travels_with_its_transaction(driver: Driver) -> None:
    """Nothing is heard before the commit, and nothing at all after a roll-back."""
    with listening(driver, TOPIC_INSERT) as listener, driver.connect() as connection:
        with connection.transaction():
            connection.fetch(notify_many(driver.sql, TOPIC_INSERT, ["committed"]))
            assert listener.wait(QUIET) == []
        with suppress(ZeroDivisionError), connection.transaction():
            connection.fetch(notify_many(driver.sql, TOPIC_INSERT, ["rolled back"]))
            raise ZeroDivisionError
        assert [item.payload for item in listener.wait(DEADLINE)] == ["committed"]
        assert listener.wait(QUIET) == []


def test_wake_ends_a_wait_from_another_thread(driver: Driver) -> None:
    """The waiting thread returns with nothing, long before its time is up."""
    with listening(driver, TOPIC_INSERT) as listener:
        heard: list[list[Notification]] = []
        thread = threading.Thread(target=lambda: heard.append(listener.wait(60)))
        thread.start()
        listener.wake()
        thread.join(DEADLINE)
        assert not thread.is_alive()
        assert heard == [[]]


def test_a_wake_before_the_wait_counts(driver: Driver) -> None:
    """No wake-up is lost between two waits, and it ends one wait only."""
    with listening(driver, TOPIC_INSERT) as listener:
        listener.wake()
        listener.wake()
        started = time.monotonic()
        assert listener.wait(60) == []
        assert time.monotonic() - started < 30
        send(driver, TOPIC_INSERT, "x")
        assert [item.payload for item in listener.wait(DEADLINE)] == ["x"]


def test_close_is_harmless_twice_and_wake_after_it(driver: Driver) -> None:
    """Stopping code need not know who stopped first."""
    listener = driver.listen([TOPIC_INSERT])
    listener.close()
    listener.close()
    listener.wake()


def test_a_closed_listener_says_so(driver: Driver) -> None:
    """Waiting on a closed connection is an error, not silence."""
    listener = driver.listen([TOPIC_INSERT])
    listener.close()
    with pytest.raises(OperationalError):
        listener.wait(1)


def test_a_listener_has_a_connection_of_its_own(database_url: str) -> None:
    """Checklist 57. It works with the pool exhausted."""
    small = (
        SqliteDriver(database_url.removeprefix("sqlite:///"), max_size=1)
        if database_url.startswith("sqlite")
        else PsycopgDriver(database_url, max_size=1)
    )
    with closing(small) as driver:
        migrate(driver)
        with driver.connect() as connection, listening(driver, TOPIC_INSERT) as listener:
            connection.fetch(notify_many(driver.sql, TOPIC_INSERT, ["x"]))
            assert [item.payload for item in listener.wait(DEADLINE)] == ["x"]


def test_an_insert_is_announced_at_its_commit(driver: Driver, database_url: str) -> None:
    """Checklist 49. A row that the caller has not committed wakes nobody."""
    with application_connection(database_url) as application, listening(driver, TOPIC_INSERT) as listener:
        Client(driver).insert_tx(application, ARGS, queue="mail")
        assert listener.wait(QUIET) == []
        application.commit()
        heard = listener.wait(DEADLINE)
    assert [json.loads(item.payload) for item in heard] == [{"queue": "mail"}]


def test_ten_inserts_into_one_queue_send_one_notification(driver: Driver) -> None:
    """Checklist 50. Within the cool-down one is enough; another queue gets its own."""
    client = Client(driver, limiter=InsertNotifyLimiter(cooldown=3600))
    with listening(driver, TOPIC_INSERT, TOPIC_CONTROL) as listener:
        for _ in range(10):
            client.insert(ARGS, queue="a")
        client.insert(ARGS, queue="b")
        heard = hear(driver, listener)
    assert [json.loads(item.payload)["queue"] for item in heard] == ["a", "b"]


def test_a_batch_announces_each_queue_once_and_only_available_jobs(driver: Driver) -> None:
    """Checklist 49. Pending and scheduled jobs are nothing to wake up for."""
    later = datetime.now(UTC) + timedelta(hours=1)
    options = [
        InsertOpts(queue="a"),
        InsertOpts(queue="a"),
        InsertOpts(queue="b"),
        InsertOpts(queue="c", pending=True),
        InsertOpts(queue="d", scheduled_at=later),
    ]
    with listening(driver, TOPIC_INSERT, TOPIC_CONTROL) as listener:
        Client(driver).insert_many([InsertManyParams(ARGS, item) for item in options])
        heard = hear(driver, listener)
    assert [json.loads(item.payload)["queue"] for item in heard] == ["a", "b"]


def test_a_failed_insert_does_not_use_up_the_cooldown(driver: Driver) -> None:
    """What was not written was not announced either, so the next insert is."""
    client = Client(driver, limiter=InsertNotifyLimiter(cooldown=3600))
    bad = InsertParams("some_kind", "no json")
    with listening(driver, TOPIC_INSERT, TOPIC_CONTROL) as listener:
        with pytest.raises(RejectedValueError):
            client.insert_params([bad])
        client.insert(ARGS)
        heard = hear(driver, listener)
    assert [json.loads(item.payload) for item in heard] == [{"queue": "default"}]


@pytest.mark.postgres
def test_the_channel_carries_the_schema(postgres_driver: PsycopgDriver, postgres_url: str) -> None:
    """Other clients listen to `<schema>.river_insert`; without a configured one it is the current schema.

    Checklist 49.
    """
    schema = fetch(postgres_driver, "SELECT current_schema()")[0][0]
    with application_connection(postgres_url, autocommit=True) as other:
        other.execute(f'LISTEN "{schema}.river_insert"')
        Client(postgres_driver).insert(ARGS)
        (heard,) = other.notifies(timeout=DEADLINE, stop_after=1)
    assert json.loads(heard.payload) == {"queue": "default"}


@pytest.mark.postgres
def test_a_configured_schema_names_the_channel(postgres_driver: PsycopgDriver, postgres_url: str) -> None:
    """Checklist 49. Whatever the sender's search path is."""
    schema = fetch(postgres_driver, "SELECT current_schema()")[0][0]
    elsewhere = f"{postgres_url.partition('?')[0]}?options=-csearch_path%3Dpg_catalog"
    with (
        application_connection(postgres_url, autocommit=True) as other,
        closing(PsycopgDriver(elsewhere, schema=schema)) as driver,
    ):
        other.execute(f'LISTEN "{schema}.river_insert"')
        Client(driver).insert(ARGS, queue="mail")
        (heard,) = other.notifies(timeout=DEADLINE, stop_after=1)
    assert json.loads(heard.payload) == {"queue": "mail"}


@pytest.mark.postgres
def test_a_lost_listening_connection_is_an_operational_error(
    postgres_driver: PsycopgDriver, postgres_url: str
) -> None:
    """The reader is told, so that it can connect again."""
    with listening(postgres_driver, TOPIC_INSERT) as listener:
        pid = listener.fetch(Statement("pid", "SELECT pg_backend_pid()", {}))[0][0]
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
        with pytest.raises(OperationalError):
            listener.wait(DEADLINE)
        with pytest.raises(OperationalError):
            listener.wait(DEADLINE)


@pytest.mark.postgres
def test_a_notification_that_arrives_during_a_statement_is_kept(postgres_driver: PsycopgDriver) -> None:
    """The listening session also runs statements; what it hears meanwhile is not lost."""
    with listening(postgres_driver, TOPIC_INSERT) as listener:
        send(postgres_driver, TOPIC_INSERT, "x")
        listener.fetch(Statement("sleep", "SELECT 1", {}))
        assert [item.payload for item in listener.wait(DEADLINE)] == ["x"]


def test_a_listener_needs_rivers_tables_on_sqlite(sqlite_path: object) -> None:
    """Without the outbox there is nothing to hear."""
    with (
        closing(SqliteDriver(str(sqlite_path))) as driver,
        pytest.raises(DatabaseError, match="river_notification"),
    ):
        driver.listen([TOPIC_INSERT])


def test_the_outbox_holds_bare_topics_and_text(sqlite_driver: SqliteDriver) -> None:
    """Go's listener reads these rows."""
    Client(sqlite_driver).insert(ARGS)
    rows = fetch(
        sqlite_driver, "SELECT topic, payload, typeof(payload), length(created_at) FROM river_notification"
    )
    assert rows == [("river_insert", '{"queue":"default"}', "text", 23)]


def test_every_message_is_an_outbox_row(sqlite_driver: SqliteDriver) -> None:
    """Checklist 52. Inserts, control messages and those of leaders, each as text with River's own keys."""
    client = Client(sqlite_driver)
    with sqlite_driver.connect() as connection:
        connection.fetch(queue_create_or_set_updated_at(sqlite_driver.sql, "a"))
    job = client.insert(ARGS, queue="a").job
    client.job_cancel(job.id)
    client.job_cancel(job.id)
    client.queue_pause("a")
    client.queue_resume("*")
    client.queue_update("a", metadata={"k": 1})
    client.request_resign()
    elector = Elector(sqlite_driver, "me", None, lambda: None, lambda: None)
    elector.run_once()
    elector.on_stop()
    rows = fetch(sqlite_driver, "SELECT topic, payload, typeof(payload) FROM river_notification ORDER BY id")
    assert [(topic, json.loads(payload), kind) for topic, payload, kind in rows] == [
        ("river_insert", {"queue": "a"}, "text"),
        ("river_control", {"action": "cancel", "job_id": job.id, "queue": "a"}, "text"),
        ("river_control", {"action": "pause", "queue": "a"}, "text"),
        ("river_control", {"action": "resume", "queue": "*"}, "text"),
        ("river_control", {"action": "metadata_changed", "metadata": {"k": 1}, "queue": "a"}, "text"),
        ("river_leadership", {"action": "request_resign", "leader_id": ""}, "text"),
        ("river_leadership", {"leader_id": "me", "action": "resigned"}, "text"),
    ]


def test_the_cursor_passes_what_is_not_for_it(sqlite_driver: SqliteDriver) -> None:
    """Checklist 56. Rows of other topics are read once and never again."""
    with closing(sqlite_driver.listen([TOPIC_INSERT])) as listener:
        read: list[str] = []
        assert isinstance(listener, SqliteListener)
        for number in range(5):
            send(sqlite_driver, TOPIC_CONTROL, f"for somebody else {number}")
        assert listener.wait(QUIET) == []
        listener._raw.set_trace_callback(read.append)
        send(sqlite_driver, TOPIC_INSERT, "for us")
        assert [item.payload for item in listener.wait(DEADLINE)] == ["for us"]
        [last] = fetch(sqlite_driver, "SELECT max(id) FROM river_notification")[0]
        assert any(f"id > {last - 1}" in " ".join(text.split()) for text in read), read


@pytest.mark.parametrize("payload", ["", "[", "[" * 3000, "5", '"x"', "{", "\x00"])
def test_a_payload_that_is_no_object_is_ignored(payload: str) -> None:
    """Anybody may NOTIFY; no text may end the thread that hears it."""
    assert decode_payload(Notification("river_control", payload)) is None
