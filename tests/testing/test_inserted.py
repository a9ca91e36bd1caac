"""What `require_inserted` and its siblings take, pass, and say when they fail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core import AsyncClient, Client, InsertManyParams, InsertOpts, ValidationError, join
from river_core.drivers import open_async_driver
from river_core.drivers.base import Driver
from river_core.errors import AmbientTransactionError
from river_core.insert import EncodedArgs
from river_core.testing import (
    ExpectedJob,
    RequireInsertedOpts,
    require_inserted,
    require_many_inserted,
    require_not_inserted,
)
from tests.conformance.applications import every_library
from tests.databases import migrate

MAIL = EncodedArgs("send_mail", '{"to": "ann"}')
NOON = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)


@dataclass
class SendMail:
    """Arguments whose class knows the kind."""

    to: str
    kind = "send_mail"

    def to_json(self) -> str:
        return f'{{"to": "{self.to}"}}'


def failure_of(function: Any, *arguments: Any, **properties: Any) -> str:
    """The text of a failed assertion."""
    with pytest.raises(AssertionError) as caught:
        function(*arguments, **properties)
    return str(caught.value)


@every_library
def test_a_transaction_is_looked_at_from_inside(driver: Driver, application: Any) -> None:
    """Its rows are seen by its own connection, and by a driver or client inside `join` alone."""
    client = Client(driver)
    job = client.insert_tx(application, MAIL, queue="mail").job
    assert require_inserted(application, "send_mail") == job
    assert require_inserted(application, MAIL, queue="mail") == job
    require_not_inserted(driver, "send_mail")
    with join(application):
        assert require_inserted(client, SendMail) == job
    assert "transaction of" in failure_of(require_inserted, application, "other")
    application.rollback()
    require_not_inserted(application, "send_mail")


def test_every_given_property_counts(driver: Driver) -> None:
    """One that differs fails, with what is there; all others equal pass."""
    Client(driver).insert(
        MAIL, queue="mail", priority=2, max_attempts=3, tags=["red", "blue"], scheduled_at=NOON
    )
    right = {
        "args": {"to": "ann"},
        "queue": "mail",
        "priority": 2,
        "max_attempts": 3,
        "tags": ["red", "blue"],
        "scheduled_at": NOON,
        "state": "scheduled",
    }
    wrong = {
        "args": {"to": "bob"},
        "queue": "post",
        "priority": 1,
        "max_attempts": 25,
        "tags": ["blue", "red"],
        "scheduled_at": NOON + timedelta(milliseconds=2),
        "state": "available",
    }
    require_inserted(driver, "send_mail", **right)
    require_inserted(driver, "send_mail", RequireInsertedOpts(**right))
    for name, value in wrong.items():
        text = failure_of(require_inserted, driver, "send_mail", **{**right, name: value})
        assert f"\n    {name} is " in text
        assert text.count(" is ") == text.count(f"{name} is ") + 1  # the headline's own
        require_not_inserted(driver, "send_mail", **{**right, name: value})
    assert "should not be there" in failure_of(require_not_inserted, driver, "send_mail", **right)


def test_times_are_compared_as_the_database_keeps_them(driver: Driver) -> None:
    """SQLite keeps milliseconds, Postgres microseconds; another zone of the same moment is the same."""
    Client(driver).insert(MAIL, scheduled_at=NOON)
    require_inserted(driver, MAIL, scheduled_at=NOON)
    require_inserted(driver, MAIL, scheduled_at=datetime.fromisoformat("2030-01-01T14:00:00.123456+02:00"))


def test_only_a_full_match_is_forbidden(driver: Driver) -> None:
    """`require_not_inserted` without properties fails for any job of the kind. Checklist 154."""
    client = Client(driver)
    require_not_inserted(driver, "send_mail")
    client.insert(MAIL, queue="mail", priority=2)
    client.insert(MAIL, queue="post", priority=3)
    require_not_inserted(driver, "send_mail", queue="mail", priority=3)
    require_not_inserted(driver, EncodedArgs("send_mail", '{"to": "bob"}'))
    text = failure_of(require_not_inserted, driver, "send_mail", queue="post", priority=3)
    assert "a job was inserted" in text
    assert "job 2: kind 'send_mail', available, queue 'post', priority 3" in text
    assert "job 1" not in text
    assert "2 jobs were inserted" in failure_of(require_not_inserted, client, "send_mail")


def test_one_means_one(driver: Driver) -> None:
    """Of two it is open which is meant; none names what is there and what is spelled alike."""
    client = Client(driver)
    assert "there are no jobs at all" in failure_of(require_inserted, driver, "send_mail")
    client.insert(EncodedArgs("send_mial", "{}"))
    client.insert(EncodedArgs("bill", "{}"))
    text = failure_of(require_inserted, driver, "send_mail", queue="mail")
    assert "looked for: kind 'send_mail', queue 'mail'" in text
    assert "1 of 'bill', 1 of 'send_mial'; did you mean 'send_mial'?" in text
    client.insert(EncodedArgs("bill", "{}"))
    text = failure_of(require_inserted, driver, "bill")
    assert "require_many_inserted" in text
    assert "job 2: kind 'bill'" in text
    assert "job 3: kind 'bill'" in text


def test_many_are_compared_in_order_and_number(driver: Driver) -> None:
    """Other kinds do not count, each item has its own properties. Checklist 154."""
    client = Client(driver)
    client.insert_many(
        [
            InsertManyParams(MAIL, InsertOpts(queue="mail")),
            InsertManyParams(EncodedArgs("other", "{}")),
            InsertManyParams(EncodedArgs("bill", "{}")),
            InsertManyParams(EncodedArgs("send_mail", '{"to": "bob"}')),
        ]
    )
    found = require_many_inserted(driver, ["send_mail", "bill", SendMail("bob")])
    assert [job.id for job in found] == [1, 3, 4]
    mail = ExpectedJob("send_mail", RequireInsertedOpts(queue="mail"))
    require_many_inserted(driver, [mail, "bill", "send_mail"])
    for listed in (["bill", "send_mail"], ["send_mail", "send_mail", "bill"], ["send_mail", "bill"]):
        text = failure_of(require_many_inserted, driver, listed)
        assert "in number and order" in text
        assert "job 3: kind 'bill'" in text
    text = failure_of(require_many_inserted, driver, ["bill", "bill"])
    assert "1. looked for: kind 'bill'" in text
    text = failure_of(require_many_inserted, driver, ["send_mail", "bill", mail])
    assert "job 2 of the list, counted from 0" in text
    assert "queue is 'default', not 'mail'" in text


def test_tasks_of_an_adapter_are_told_apart(driver: Driver) -> None:
    """All of them have one kind; `task` looks at those of one name."""
    client = Client(driver)
    for name in ("shop.bill", "shop.mail"):
        client.insert(EncodedArgs("python_task", f'{{"version": 1, "task": {{"name": "{name}"}}}}'))
    assert require_inserted(driver, "python_task", task="shop.mail").id == 2
    text = failure_of(require_inserted, driver, "python_task", task="shop.post")
    assert "looked for: kind 'python_task', task 'shop.post'" in text
    assert "calls of shop.bill, shop.mail" in text
    require_not_inserted(driver, "python_task", task="shop.post")
    mail, bill = (
        ExpectedJob("python_task", RequireInsertedOpts(task=name)) for name in ("shop.mail", "shop.bill")
    )
    require_many_inserted(driver, [bill, mail])
    assert "in number and order" in failure_of(require_many_inserted, driver, [mail, bill])


@pytest.mark.foreign_rows
def test_a_row_that_cannot_be_read_is_another_one(sqlite_driver: Driver) -> None:
    """It fails the assertion that needs its arguments, and no other."""
    Client(sqlite_driver).insert(MAIL)
    with sqlite_driver.connect() as connection:
        connection.run_script("UPDATE river_job SET args = jsonb('[1]')")
    require_inserted(sqlite_driver, "send_mail")
    assert "a JSON object was expected" in failure_of(require_inserted, sqlite_driver, MAIL)


@pytest.mark.postgres
def test_another_schema_can_be_named(postgres_url: str, postgres_driver: Driver) -> None:
    """For a connection that does not find River's tables; for many with the first, or with each."""
    with postgres_driver.connect() as connection:
        connection.run_script("CREATE SCHEMA elsewhere")
    from river_core.drivers.psycopg import PsycopgDriver

    other = PsycopgDriver(postgres_url, schema="elsewhere")
    migrate(other)
    Client(other).insert(MAIL)
    require_not_inserted(postgres_driver, "send_mail")
    require_inserted(other, "send_mail")
    require_inserted(postgres_driver, "send_mail", schema="elsewhere")
    with other.connect() as connection:
        require_inserted(connection.raw, "send_mail", schema="elsewhere")
    here = ExpectedJob("send_mail", RequireInsertedOpts(schema="elsewhere"))
    require_many_inserted(postgres_driver, [here])
    with pytest.raises(ValidationError, match="schema is given"):
        require_many_inserted(postgres_driver, ["send_mail", here])
    other.close()


def test_what_cannot_be_meant_is_refused(driver: Driver) -> None:
    """With the way out, before anything is looked at."""
    with pytest.raises(AmbientTransactionError, match="give a driver, a client, or a connection"):
        require_inserted(object(), "send_mail")
    with pytest.raises(AmbientTransactionError, match="is awaited"):
        require_inserted(AsyncClient(open_async_driver("postgresql:///nowhere")), "send_mail")
    for wrong in (
        {"scheduled_at": datetime(2030, 1, 1)},  # noqa: DTZ001 - the missing zone is the point
        {"state": "done"},
        {"tags": "a"},
        {"colour": "red"},
        {"task": "shop.mail"},
    ):
        with pytest.raises(ValidationError):
            require_inserted(driver, "send_mail", **wrong)
    with pytest.raises(ValidationError, match="a kind"):
        require_inserted(driver, 3)  # type: ignore[arg-type] # the wrong value is the point
    with pytest.raises(ValidationError, match="at least one"):
        require_many_inserted(driver, [])
