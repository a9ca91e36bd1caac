"""What every driver does alike: statements, transactions, errors, connections that were lost."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from river_core.client import Client
from river_core.db.statement import Dialect, Statement
from river_core.drivers import open_driver
from river_core.drivers.base import Connection, Driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.sqlite import SqliteDriver
from river_core.errors import (
    ConfigurationError,
    DatabaseError,
    MissingSchemaError,
    OperationalError,
    RejectedValueError,
)
from river_core.insert import EncodedArgs
from river_core.migrate import Migrator
from tests.conformance.raw_connections import application_connection, fetch

INSERT_QUEUE = "INSERT INTO river_queue (name, updated_at) VALUES (@name, '2026-01-01 00:00:00')"
QUEUE_NAMES = "SELECT name FROM river_queue ORDER BY name"


def queue_names(driver: Driver) -> list[str]:
    """Return the names of all committed queues."""
    return [row[0] for row in fetch(driver, QUEUE_NAMES)]


def add_queue(name: str) -> Statement:
    """Return a statement that writes one row."""
    return Statement("add_queue", INSERT_QUEUE, {"name": name})


def in_a_failing_transaction(connection: Connection, action: Callable[[], object]) -> None:
    """Do something in a transaction and fail."""
    with connection.transaction():
        action()
        raise ZeroDivisionError


def test_a_statement_takes_every_kind_of_parameter(driver: Driver) -> None:
    """Text, numbers, bytes and NULL arrive as they are."""
    casts = {
        Dialect.POSTGRES: "SELECT @a::text, @b::bigint, @c::float8, @d::bytea, @e::text",
        Dialect.SQLITE: "SELECT @a, @b, @c, @d, @e",
    }
    given = {"a": "é%@x", "b": 2**40, "c": 0.5, "d": b"\x00\xff", "e": None}
    assert [tuple(row) for row in fetch(driver, casts[driver.sql.dialect], **given)] == [
        tuple(given.values())
    ]


def test_a_statement_without_rows_gives_an_empty_list(driver: Driver) -> None:
    """A statement that returns nothing is no error."""
    assert fetch(driver, "DELETE FROM river_queue") == []


def test_each_statement_commits_by_itself(driver: Driver) -> None:
    """Outside `transaction()` others see a change at once."""
    with driver.connect() as connection:
        connection.fetch(add_queue("a"))
        assert queue_names(driver) == ["a"]


def test_a_transaction_commits_at_its_end(driver: Driver) -> None:
    """Nobody else sees a change before the block ends; everybody does afterwards."""
    with driver.connect() as connection:
        with connection.transaction():
            connection.fetch(add_queue("a"))
            assert queue_names(driver) == []
        assert queue_names(driver) == ["a"]


def test_a_transaction_rolls_back_on_an_exception(driver: Driver) -> None:
    """The exception passes through, and the connection can be used again."""
    with driver.connect() as connection:
        with pytest.raises(ZeroDivisionError):
            in_a_failing_transaction(connection, lambda: connection.fetch(add_queue("a")))
        connection.fetch(add_queue("b"))
    assert queue_names(driver) == ["b"]


def test_an_inner_transaction_belongs_to_the_outer_one(driver: Driver) -> None:
    """What an inner block did is undone with the outer one."""

    def add_in_a_transaction() -> None:
        with connection.transaction():
            connection.fetch(add_queue("a"))

    with driver.connect() as connection, pytest.raises(ZeroDivisionError):
        in_a_failing_transaction(connection, add_in_a_transaction)
    assert queue_names(driver) == []


def test_a_script_inside_a_transaction_is_undone_with_it(driver: Driver) -> None:
    """Several statements in one text run, and the transaction around them still decides."""
    script = "CREATE TABLE one (a integer);\n-- a comment; with a semicolon\nCREATE TABLE two (a integer);\n"
    with driver.connect() as connection:
        with pytest.raises(ZeroDivisionError):
            in_a_failing_transaction(connection, lambda: connection.run_script(script))
        connection.run_script(script)
    assert fetch(driver, "SELECT count(*) FROM one, two")[0][0] == 0


def test_a_refused_value_is_told_apart(driver: Driver) -> None:
    """A violated check and a repeated key are RejectedValueError, chained to the library's own error."""
    fetch(driver, INSERT_QUEUE, name="a")
    with pytest.raises(RejectedValueError) as caught:
        fetch(driver, INSERT_QUEUE, name="a")
    assert caught.value.__cause__ is not None
    if driver.sql.dialect is Dialect.POSTGRES:
        assert caught.value.sqlstate == "23505"


def test_text_that_cannot_be_encoded_is_a_refused_value(driver: Driver) -> None:
    """Half of a surrogate pair never reaches the database."""
    with pytest.raises(RejectedValueError):
        fetch(driver, INSERT_QUEUE, name="half \ud800 pair")


@pytest.mark.postgres
def test_nul_is_a_refused_value_on_postgres(postgres_driver: Driver) -> None:
    """Its text type has no such character."""
    with pytest.raises(RejectedValueError, match="NUL"):
        fetch(postgres_driver, INSERT_QUEUE, name="NUL \x00")


def test_a_number_beyond_64_bits_is_a_refused_value(driver: Driver) -> None:
    """Neither database has a column for it."""
    column = "@n::bigint" if driver.sql.dialect is Dialect.POSTGRES else "@n"
    with pytest.raises(RejectedValueError):
        fetch(driver, f"SELECT {column}", n=2**64)


def test_a_missing_table_is_a_database_error(driver: Driver) -> None:
    """It is neither a refused value nor a database out of reach."""
    with pytest.raises(DatabaseError) as caught:
        fetch(driver, "SELECT * FROM no_such_table")
    assert type(caught.value) is DatabaseError


def test_a_borrower_waits_only_so_long_for_a_connection(database_url: str) -> None:
    """With all connections lent out the next caller gets an OperationalError that says so."""
    with (
        closing(small_driver(database_url)) as driver,
        driver.connect(),
        pytest.raises(OperationalError, match="all 1 are in use"),
        driver.connect(),
    ):
        pass


def small_driver(url: str) -> Driver:
    """Return a driver with a single connection and little patience."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        return SqliteDriver(path, busy_timeout=0.05, max_size=1)
    return PsycopgDriver(url, max_size=1, connect_timeout=0.05)


def test_a_driver_can_be_used_again_after_close(driver: Driver) -> None:
    """`close` is harmless twice, and a later call connects anew."""
    fetch(driver, "SELECT 1")
    driver.close()
    driver.close()
    assert fetch(driver, "SELECT 1")[0][0] == 1


def test_a_connection_lent_out_is_closed_when_it_comes_back_after_close(driver: Driver) -> None:
    """The block goes on with its connection; the pool does not keep it."""
    with driver.connect() as connection:
        driver.close()
        assert connection.fetch(Statement("one", "SELECT 1", {}))[0][0] == 1
    with pytest.raises(OperationalError):
        connection.fetch(Statement("one", "SELECT 1", {}))


def test_threads_get_connections_of_their_own(driver: Driver) -> None:
    """Two threads in a transaction at the same time do not share it."""
    inside, leave = threading.Event(), threading.Event()

    def read() -> None:
        with driver.connect() as connection:
            connection.fetch(Statement("names", QUEUE_NAMES, {}))
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        assert inside.wait(60)
        with driver.connect() as connection, connection.transaction():
            connection.fetch(add_queue("a"))
    finally:
        leave.set()
        thread.join()
    assert queue_names(driver) == ["a"]


def in_child(action: Callable[[], str]) -> str:
    """Run `action` in a fork of this process and return the text that it gives."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, action().encode())
        except BaseException as error:  # noqa: BLE001 - the parent's assertion shows it
            os.write(writer, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


def test_a_fork_uses_connections_of_its_own(driver: Driver) -> None:
    """The child connects anew, and what the parent had open goes on working."""

    def add_in_child() -> str:
        with driver.connect() as connection:
            connection.fetch(add_queue("child"))
        driver.close()
        return "done"

    with driver.connect() as connection:
        connection.fetch(add_queue("parent"))
        before = session_id(connection)
        assert in_child(add_in_child) == "done"
        assert session_id(connection) == before
        connection.fetch(add_queue("parent again"))
    assert queue_names(driver) == ["child", "parent", "parent again"]


def session_id(connection: Any) -> Any:
    """Return what tells this database session from others."""
    if isinstance(connection.raw, psycopg.Connection):
        return connection.fetch(Statement("pid", "SELECT pg_backend_pid()", {}))[0][0]
    return id(connection.raw)


def test_a_fork_finds_idle_connections_untouched(driver: Driver) -> None:
    """A child that ends normally closes nothing of its parent's."""
    fetch(driver, "SELECT 1")
    assert in_child(lambda: str(fetch(driver, "SELECT 2")[0][0])) == "2"
    assert fetch(driver, "SELECT 3")[0][0] == 3


@pytest.mark.postgres
def test_times_come_back_in_utc_whatever_the_servers_zone(postgres_url: str) -> None:
    """A session whose default zone is another one still gives UTC."""
    zoned = postgres_url.replace("options=", "options=-ctimezone%3DAsia/Tokyo%20")
    with closing(PsycopgDriver(zoned)) as driver:
        moment = fetch(driver, "SELECT '2026-08-07 12:00:00+02'::timestamptz")[0][0]
    assert moment == datetime(2026, 8, 7, 10, tzinfo=UTC)
    assert moment.tzinfo is UTC


@pytest.mark.postgres
def test_an_idle_connection_that_the_server_ended_is_replaced(
    postgres_driver: PsycopgDriver, postgres_url: str
) -> None:
    """After a restart or a terminated session the next caller notices nothing."""
    old = fetch(postgres_driver, "SELECT pg_backend_pid()")[0][0]
    terminate(postgres_url, old)
    assert fetch(postgres_driver, "SELECT pg_backend_pid()")[0][0] != old


def terminate(url: str, pid: int) -> None:
    """End a session and wait until it is gone."""
    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute("SELECT pg_terminate_backend(%s, 10000)", [pid]).fetchone() == (True,)


@pytest.mark.postgres
def test_a_connection_that_ends_while_it_is_used_is_an_operational_error(
    postgres_driver: PsycopgDriver, postgres_url: str
) -> None:
    """The statement fails as OperationalError, and the connection does not go back to the pool."""
    with postgres_driver.connect() as connection:
        terminate(postgres_url, session_id(connection))
        with pytest.raises(OperationalError):
            connection.fetch(Statement("one", "SELECT 1", {}))
    assert fetch(postgres_driver, "SELECT 1")[0][0] == 1


def test_a_dead_server_is_reported_with_its_reason() -> None:
    """Nothing listens there: the caller learns it at once, not after a pool's time-out."""
    with closing(PsycopgDriver("postgresql://nobody@127.0.0.1:1/nothing")) as driver:
        started = time.monotonic()
        with pytest.raises(OperationalError, match="refused"), driver.connect():
            pass
        assert time.monotonic() - started < 5
        with pytest.raises(OperationalError):
            driver.listen(["river_insert"])


def test_a_file_that_cannot_be_opened_is_reported_with_its_path(tmp_path: Path) -> None:
    """The folder does not exist."""
    with (
        closing(SqliteDriver(tmp_path / "missing" / "river.db")) as driver,
        pytest.raises(OperationalError, match=r"missing/river\.db"),
        driver.connect(),
    ):
        pass


def test_a_locked_file_is_an_operational_error(sqlite_driver: Driver, sqlite_path: Path) -> None:
    """A second writer waits for the busy time-out and then hears that the database is locked."""
    with (
        closing(SqliteDriver(sqlite_path, busy_timeout=0.05)) as impatient,
        sqlite_driver.connect() as writer,
        writer.transaction(),
        impatient.connect() as connection,
        pytest.raises(OperationalError, match="locked"),
        connection.transaction(),
    ):
        pass


def test_sqlite_runs_in_wal_mode_and_waits_for_other_writers(sqlite_driver: Driver) -> None:
    """Readers go on beside a writer, and a busy file is waited for."""
    assert fetch(sqlite_driver, "PRAGMA journal_mode")[0][0] == "wal"
    assert fetch(sqlite_driver, "PRAGMA busy_timeout")[0][0] == 5000


def test_many_threads_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    """Switching an empty file to WAL does not fail for those who come second."""
    (tmp_path / "new.db").touch()
    failures: list[BaseException] = []
    barrier = threading.Barrier(8)

    def open_and_read() -> None:
        with closing(SqliteDriver(tmp_path / "new.db")) as driver:
            barrier.wait(60)
            try:
                fetch(driver, "SELECT 1")
            except DatabaseError as error:
                failures.append(error)

    threads = [threading.Thread(target=open_and_read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_database_in_memory_is_shared_by_the_drivers_connections() -> None:
    """Two connections see the same rows; another driver in memory sees none of them."""
    with closing(SqliteDriver(":memory:")) as one, closing(SqliteDriver(":memory:")) as other:
        fetch(one, "CREATE TABLE t (a integer)")
        with one.connect() as first, one.connect() as second:
            first.fetch(Statement("insert", "INSERT INTO t VALUES (7)", {}))
            assert second.fetch(Statement("select", "SELECT a FROM t", {})) == [(7,)]
        with pytest.raises(DatabaseError, match="no such table"):
            fetch(other, "SELECT * FROM t")


def test_an_application_may_read_while_we_write(driver: Driver, database_url: str) -> None:
    """Our open transaction does not hold a reader back."""
    with driver.connect() as connection, connection.transaction():
        connection.fetch(add_queue("a"))
        with application_connection(database_url) as reader:
            assert reader.execute("SELECT count(*) FROM river_queue").fetchone() == (0,)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("postgresql://u@h/db", PsycopgDriver),
        ("postgres://u@h/db", PsycopgDriver),
        ("sqlite:///river.db", SqliteDriver),
        ("sqlite:////var/river.db", SqliteDriver),
        ("sqlite://", SqliteDriver),
        ("sqlite:///:memory:", SqliteDriver),
    ],
)
def test_a_url_chooses_the_driver_without_connecting(url: str, kind: type) -> None:
    """Only the scheme decides; the database need not exist."""
    with closing(open_driver(url)) as driver:
        assert isinstance(driver, kind)


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("redis://localhost:6379/0", "RIVER_DATABASE_URL"),
        ("amqp://guest@localhost//", "message broker"),
        ("postgresql+psycopg://u@h/db", "write postgresql:// instead"),
        ("mysql://u@h/db", "'mysql'"),
        ("river.db", "has no scheme"),
        ("sqlite://river.db", "three slashes"),
    ],
)
def test_another_url_is_refused_with_the_way_out(url: str, part: str) -> None:
    """The text names what was given and what to write instead."""
    with pytest.raises(ConfigurationError, match=part):
        open_driver(url)


def test_a_schema_is_refused_on_sqlite() -> None:
    """SQLite has no schemas of one file."""
    with pytest.raises(ConfigurationError, match="SQLite"):
        open_driver("sqlite:///river.db", schema="jobs")


def test_a_malformed_connection_string_is_a_configuration_error() -> None:
    """It is found before anything connects."""
    with pytest.raises(ConfigurationError, match="connection string"):
        PsycopgDriver("host=a nonsense")


@pytest.mark.parametrize("schema", ["a-b", "1a", "a" * 47, 'a"b'])
def test_a_schema_name_that_other_clients_refuse_is_a_configuration_error(schema: str) -> None:
    """Checklist 12. Letters, digits and underscores, at most 46 characters."""
    with pytest.raises(ConfigurationError, match="schema"):
        PsycopgDriver("host=a", schema=schema)


def test_a_missing_schema_names_the_database_and_the_way_out(postgres_url: str) -> None:
    """An insert before the migration says where the tables are not and which command makes them."""
    with (
        closing(open_driver(postgres_url)) as unmigrated,
        pytest.raises(MissingSchemaError, match="river-compat migrate up") as raised,
    ):
        Client(unmigrated).insert(EncodedArgs("k1", "{}"))
    with psycopg.connect(postgres_url) as connection:
        info = connection.info
        assert f"not in the database {info.dbname} on {info.host}, {info.port}:" in str(raised.value)


def test_a_missing_schema_names_the_file(sqlite_path: Path) -> None:
    """A file of somebody else's is named by its whole path."""
    sqlite3.connect(sqlite_path).close()
    with (
        closing(SqliteDriver(sqlite_path)) as unmigrated,
        pytest.raises(MissingSchemaError, match="river-compat migrate up") as raised,
    ):
        Client(unmigrated).insert(EncodedArgs("k1", "{}"))
    assert f"not in the SQLite file {sqlite_path}:" in str(raised.value)


def test_an_insert_in_the_wrong_directory_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path that was looked at is named whole; only a migration creates the file."""
    monkeypatch.chdir(tmp_path)
    with closing(open_driver("sqlite:///river.sqlite3")) as driver:
        with pytest.raises(MissingSchemaError, match="there is no SQLite file") as raised:
            Client(driver).insert(EncodedArgs("k1", "{}"))
        assert str(tmp_path / "river.sqlite3") in str(raised.value)
        assert not list(tmp_path.iterdir())
        Migrator(driver).migrate_up()
        assert Client(driver).insert(EncodedArgs("k1", "{}")).job.id == 1
