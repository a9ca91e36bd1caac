"""Insertion inside the application's own transaction, on the connections of every library."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import psycopg
import pytest
from psycopg.rows import dict_row

from river_core.ambient import join, joined
from river_core.client import Client
from river_core.db.statement import Dialect
from river_core.drivers import open_driver
from river_core.drivers.base import Driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.sqlite import SqliteDriver
from river_core.errors import AmbientTransactionError, DatabaseError, RejectedValueError, ValidationError
from river_core.insert import EncodedArgs, InsertManyParams, InsertParams
from tests.conformance.applications import OPENERS, every_library, on
from tests.conformance.raw_connections import application_connection, count_jobs, fetch
from tests.databases import migrate, with_database

ARGS = EncodedArgs("some_kind", "{}")


@every_library
def test_a_commit_leaves_the_row(driver: Driver, application: Any) -> None:
    """Nobody sees it before; the result is complete at once. Checklist 25."""
    with join(application):
        job = Client(driver).insert(ARGS).job
    assert job.id == 1
    assert count_jobs(driver) == 0
    application.commit()
    assert count_jobs(driver) == 1
    assert Client(driver).job_get(job.id) == job


@every_library
def test_a_rollback_leaves_no_row(driver: Driver, application: Any) -> None:
    """Neither of a single insert nor of a batch. Checklist 25."""
    client = Client(driver)
    with join(application):
        client.insert(ARGS)
        client.insert_many([InsertManyParams(ARGS), InsertManyParams(ARGS)])
        client.insert_params([InsertParams("some_kind", "{}")])
    application.rollback()
    assert count_jobs(driver) == 0


@on("psycopg", "sqlite3")
def test_no_savepoint_is_opened(driver: Driver, application: Any) -> None:
    """Checklist 25. What fails inside leaves the whole transaction to the application."""
    client = Client(driver)
    with join(application):
        client.insert(ARGS)
        if driver.sql.dialect is Dialect.POSTGRES:
            with pytest.raises(RejectedValueError):
                client.insert_params([InsertParams("some_kind", "no json")])
            assert application.info.transaction_status is psycopg.pq.TransactionStatus.INERROR
        else:
            ran: list[str] = []
            application.set_trace_callback(ran.append)
            client.insert_many([InsertManyParams(ARGS), InsertManyParams(ARGS)])
            application.set_trace_callback(None)
            assert ran
            assert not [
                text for text in ran if text.lstrip().upper().startswith(("SAVEPOINT", "RELEASE", "BEGIN"))
            ]
    application.rollback()
    assert count_jobs(driver) == 0


@every_library
def test_the_row_and_the_applications_own_change_live_or_die_together(
    driver: Driver, application: Any
) -> None:
    """O48. The insert joins what the application has begun, and what it does next belongs to it as well."""
    application.execute("CREATE TABLE orders (number integer)")
    application.commit()
    for finish, expected in ((application.rollback, 0), (application.commit, 1)):
        application.execute("INSERT INTO orders VALUES (1)")
        with join(application):
            Client(driver).insert(ARGS)
        application.execute("INSERT INTO orders VALUES (2)")
        finish()
        assert count_jobs(driver) == expected
        assert fetch(driver, "SELECT count(*) FROM orders")[0][0] == 2 * expected


@every_library
def test_insert_tx_names_the_connection_in_the_call(driver: Driver, application: Any) -> None:
    """The same without a block."""
    client = Client(driver)
    client.insert_tx(application, ARGS, queue="mail")
    client.insert_many_tx(application, [InsertManyParams(ARGS), InsertManyParams(ARGS)])
    assert count_jobs(driver) == 0
    application.commit()
    assert count_jobs(driver) == 3


def test_enqueue_own_passes_the_joined_connection_by(driver: Driver, database_url: str) -> None:
    """O45. The row is there at once, whatever becomes of the transaction."""
    client = Client(driver)
    with application_connection(database_url) as application, join(application):
        client.insert(ARGS, enqueue="own")
        assert count_jobs(driver) == 1
        with pytest.raises(ValidationError, match="enqueue"):
            client.insert(ARGS, enqueue="sometimes")  # type: ignore[arg-type] # the wrong value is the point


@every_library
def test_the_joined_connection_ends_with_the_block(driver: Driver, application: Any) -> None:
    """Blocks nest, and an exception ends them too."""

    def insert_and_fail() -> None:
        with join(application):
            with join(application):
                Client(driver).insert(ARGS)
            assert joined() is application
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        insert_and_fail()
    assert joined() is None
    application.rollback()
    assert count_jobs(driver) == 0


def test_none_is_no_connection() -> None:
    """It would mean no transaction at all, which nobody writes a `with` for."""
    with pytest.raises(AmbientTransactionError, match="not None"), join(None):
        pytest.fail("nothing may run in here")


@every_library
def test_another_thread_does_not_inherit_the_connection(driver: Driver, application: Any) -> None:
    """A connection belongs to the code that joined it."""
    with join(application):
        thread = threading.Thread(target=Client(driver).insert, args=[ARGS])
        thread.start()
        thread.join()
    assert count_jobs(driver) == 1


@every_library
def test_reads_see_what_the_joined_transaction_wrote(driver: Driver, application: Any) -> None:
    """Also cancelling and deleting run inside it."""
    client = Client(driver)
    with join(application):
        first, second = client.insert(ARGS).job, client.insert(ARGS).job
        assert client.job_get(first.id) == first
        client.job_delete(first.id)
        assert client.job_cancel(second.id).state == "cancelled"
    application.commit()
    assert [tuple(row) for row in fetch(driver, "SELECT id FROM river_job")] == [(second.id,)]


@on(*(name for name in OPENERS if name != "django"))
def test_a_closed_connection_is_refused(driver: Driver, application: Any) -> None:
    """The text says what is wrong with it. Django opens its connections again."""
    application.close()
    with pytest.raises(AmbientTransactionError, match="closed"), join(application):
        Client(driver).insert(ARGS)


def test_another_librarys_connection_is_refused(driver: Driver) -> None:
    """The text names the type that was given and the one that is taken."""
    taken = "psycopg.Connection" if driver.sql.dialect is Dialect.POSTGRES else "sqlite3.Connection"
    with pytest.raises(AmbientTransactionError, match=rf"{taken}.*builtins\.object"), join(object()):
        Client(driver).insert(ARGS)


@every_library
def test_a_refused_value_leaves_the_decision_to_the_application(driver: Driver, application: Any) -> None:
    """The error is River's; the application rolls back and goes on."""
    with join(application):
        with pytest.raises(RejectedValueError):
            Client(driver).insert_params([InsertParams("some_kind", "no json")])
        application.rollback()
        Client(driver).insert(ARGS)
    application.commit()
    assert count_jobs(driver) == 1


@pytest.mark.postgres
class TestPsycopg:
    """What only a psycopg connection can show."""

    def test_a_transaction_on_sqlite_cannot_take_the_row(
        self, postgres_driver: PsycopgDriver, tmp_path: Path
    ) -> None:
        """The application's other database is not River's."""
        with (
            closing(sqlite3.connect(tmp_path / "other.db")) as other,
            join(other),
            pytest.raises(AmbientTransactionError, match=r"sqlite3\.Connection"),
        ):
            Client(postgres_driver).insert(ARGS)

    def test_another_database_is_refused_by_name(
        self, postgres_driver: PsycopgDriver, postgres_url: str, postgres_server: Any
    ) -> None:
        """Both databases are named."""
        elsewhere = with_database(postgres_server.url, "template1")
        name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
        with (
            closing(psycopg.connect(elsewhere)) as other,
            join(other),
            pytest.raises(AmbientTransactionError, match=rf"template1.*{name}"),
        ):
            Client(postgres_driver).insert(ARGS)

    def test_another_address_of_the_same_database_is_taken(
        self, postgres_driver: PsycopgDriver, postgres_url: str
    ) -> None:
        """The server is asked who it is, so `localhost` and `127.0.0.1` are one."""
        parameters = psycopg.conninfo.conninfo_to_dict(postgres_url)
        host = "localhost" if parameters["host"] != "localhost" else "127.0.0.1"
        with closing(psycopg.connect(postgres_url, host=host)) as application:
            assert application.info.host != parameters["host"]
            with join(application):
                Client(postgres_driver).insert(ARGS)
            application.commit()
        assert count_jobs(postgres_driver) == 1

    def test_a_failed_transaction_is_refused(self, postgres_driver: Driver, postgres_url: str) -> None:
        """Celery's message would have been sent; a row cannot be."""
        with application_connection(postgres_url) as application:
            with pytest.raises(psycopg.Error):
                application.execute("SELECT 1 / 0")
            with join(application), pytest.raises(AmbientTransactionError, match="roll it back"):
                Client(postgres_driver).insert(ARGS)
            application.rollback()

    def test_a_savepoint_of_the_application_takes_the_row_with_it(
        self, postgres_driver: Driver, postgres_url: str
    ) -> None:
        """O48. The insert opens none of its own."""

        def insert_and_fail(application: Any) -> None:
            with application.transaction():
                with application.transaction():
                    Client(postgres_driver).insert(ARGS)
                raise ZeroDivisionError

        with application_connection(postgres_url) as application, join(application):
            with pytest.raises(ZeroDivisionError):
                insert_and_fail(application)
            with application.transaction():
                Client(postgres_driver).insert(ARGS)
        assert count_jobs(postgres_driver) == 1

    def test_an_autocommit_connection_commits_at_once(
        self, postgres_driver: Driver, postgres_url: str
    ) -> None:
        """Whatever transaction it has open, here none."""
        with application_connection(postgres_url, autocommit=True) as application, join(application):
            Client(postgres_driver).insert(ARGS)
            assert count_jobs(postgres_driver) == 1

    def test_the_applications_settings_do_not_matter_and_stay(
        self, postgres_driver: Driver, postgres_url: str
    ) -> None:
        """Row factory, zone and prepared statements are the application's."""
        with application_connection(postgres_url, row_factory=dict_row) as application:
            application.execute("SET TIME ZONE 'Asia/Tokyo'")
            with join(application):
                for _ in range(10):
                    job = Client(postgres_driver).insert(ARGS).job
            assert str(job.created_at.tzinfo) == "UTC"
            assert application.execute("SELECT 1 AS one").fetchone() == {"one": 1}
            prepared = application.execute("SELECT count(*) AS n FROM pg_prepared_statements").fetchone()
            assert prepared == {"n": 0}
            zone = application.execute("SHOW TIME ZONE").fetchone()
            assert zone == {"TimeZone": "Asia/Tokyo"}

    def test_a_schema_is_found_whatever_the_search_path(self, postgres_url: str) -> None:
        """O37. Statements name it."""
        with closing(PsycopgDriver(postgres_url)) as plain:
            schema = fetch(plain, "SELECT current_schema()")[0][0]
        with closing(PsycopgDriver(postgres_url, schema=schema)) as driver:
            migrate(driver)
            with application_connection(postgres_url) as application:
                application.execute("SET search_path = pg_catalog")
                with join(application):
                    Client(driver).insert(ARGS)
                application.commit()
            assert count_jobs(driver) == 1


class TestSqlite:
    """What only a sqlite3 connection can show."""

    @pytest.mark.parametrize("level", ["", "DEFERRED", "IMMEDIATE", "EXCLUSIVE"])
    def test_a_transaction_begins_as_the_module_begins_it(
        self, sqlite_driver: SqliteDriver, sqlite_path: Path, level: Any
    ) -> None:
        """In every isolation level the application's roll-back and commit decide."""
        with closing(sqlite3.connect(sqlite_path, isolation_level=level)) as application, join(application):
            Client(sqlite_driver).insert(ARGS)
            assert application.in_transaction
            application.rollback()
            Client(sqlite_driver).insert(ARGS)
            application.commit()
        assert count_jobs(sqlite_driver) == 1

    def test_an_autocommit_connection_commits_at_once(
        self, sqlite_driver: SqliteDriver, sqlite_path: Path
    ) -> None:
        """Unless the application has begun a transaction by hand."""
        with closing(sqlite3.connect(sqlite_path, isolation_level=None)) as application, join(application):
            Client(sqlite_driver).insert(ARGS)
            assert not application.in_transaction
            assert count_jobs(sqlite_driver) == 1
            application.execute("BEGIN")
            Client(sqlite_driver).insert(ARGS)
            application.execute("ROLLBACK")
        assert count_jobs(sqlite_driver) == 1

    def test_a_read_begins_no_transaction(self, sqlite_driver: SqliteDriver, sqlite_path: Path) -> None:
        """Nothing is left open that the application does not know of."""
        job = Client(sqlite_driver).insert(ARGS).job
        with closing(sqlite3.connect(sqlite_path)) as application, join(application):
            assert Client(sqlite_driver).job_get(job.id) == job
            assert not application.in_transaction

    def test_another_file_is_refused_by_name(self, sqlite_driver: SqliteDriver, tmp_path: Path) -> None:
        """Both files are named; a database in memory is another one too."""
        with (
            closing(sqlite3.connect(tmp_path / "other.db")) as other,
            join(other),
            pytest.raises(AmbientTransactionError, match=r"other\.db.*river\.sqlite3"),
        ):
            Client(sqlite_driver).insert(ARGS)
        with (
            closing(sqlite3.connect(":memory:")) as other,
            pytest.raises(AmbientTransactionError, match="memory"),
        ):
            Client(sqlite_driver).insert_tx(other, ARGS)

    def test_another_path_to_the_same_file_is_taken(
        self, sqlite_driver: SqliteDriver, sqlite_path: Path, tmp_path: Path
    ) -> None:
        """A link leads to the same database."""
        link = tmp_path / "link.db"
        link.symlink_to(sqlite_path)
        with closing(sqlite3.connect(link)) as application:
            Client(sqlite_driver).insert_tx(application, ARGS)
            application.commit()
        assert count_jobs(sqlite_driver) == 1

    def test_the_applications_settings_do_not_matter_and_stay(
        self, sqlite_driver: SqliteDriver, sqlite_path: Path
    ) -> None:
        """Row factory and converters for declared types are the application's."""
        converters = sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES
        with closing(sqlite3.connect(sqlite_path, detect_types=converters)) as application:
            application.row_factory = sqlite3.Row
            job = Client(sqlite_driver).insert_tx(application, ARGS).job
            application.commit()
            assert application.execute("SELECT 1 AS one").fetchone()["one"] == 1
        assert Client(sqlite_driver).job_get(job.id) == job

    def test_a_connection_of_another_thread_is_refused(
        self, sqlite_driver: SqliteDriver, sqlite_path: Path
    ) -> None:
        """The sqlite3 module would refuse it in the middle."""
        opened: list[sqlite3.Connection] = []
        path = str(sqlite_path)
        thread = threading.Thread(
            target=lambda: opened.append(sqlite3.connect(path, check_same_thread=False))
        )
        thread.start()
        thread.join()
        with closing(opened[0]) as usable:
            Client(sqlite_driver).insert_tx(usable, ARGS)
            usable.commit()
        with closing(sqlite3.connect(path)) as mine:
            refused: list[BaseException] = []

            def insert() -> None:
                try:
                    Client(sqlite_driver).insert_tx(mine, ARGS)
                except AmbientTransactionError as error:
                    refused.append(error)

            other = threading.Thread(target=insert)
            other.start()
            other.join()
        assert len(refused) == 1
        assert "thread" in str(refused[0])

    def test_a_script_is_refused_on_a_joined_connection(
        self, sqlite_driver: SqliteDriver, sqlite_path: Path
    ) -> None:
        """It would end the application's transaction."""
        with (
            closing(sqlite3.connect(sqlite_path)) as application,
            pytest.raises(AmbientTransactionError, match="script"),
        ):
            sqlite_driver.adopt(application).run_script("SELECT 1;")


def test_the_error_of_a_missing_schema_is_rivers(database_url: str) -> None:
    """An application that forgot to migrate gets a DatabaseError, chained to its library's."""
    with closing(open_driver(database_url)) as driver:
        fetch(driver, "SELECT 1")
        with application_connection(database_url) as application:
            with pytest.raises(DatabaseError, match="river_job"), join(application):
                Client(driver).insert(ARGS)
            application.rollback()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("options", "reason"),
    [("-cdatestyle=German,DMY", "DateStyle"), ("-cclient_encoding=SQL_ASCII", "SQL_ASCII")],
)
def test_a_session_that_cannot_be_read_is_refused_before_the_insert(
    postgres_driver: Driver, postgres_url: str, options: str, reason: str
) -> None:
    """Else the call would raise although its row is in the transaction."""
    search_path = dict(parse_qsl(urlsplit(postgres_url).query))["options"]
    url = postgres_url.partition("?")[0]
    with psycopg.connect(url, options=f"{search_path} {options}") as connection, join(connection):
        with pytest.raises(AmbientTransactionError, match=reason):
            Client(postgres_driver).insert(ARGS)
        connection.commit()
    assert count_jobs(postgres_driver) == 0


@pytest.mark.postgres
def test_a_pipeline_is_refused_before_the_insert(postgres_driver: Driver, postgres_url: str) -> None:
    """A pipeline gives no answer before its end."""
    with psycopg.connect(postgres_url) as connection, join(connection):
        with connection.pipeline(), pytest.raises(AmbientTransactionError, match="pipeline"):
            Client(postgres_driver).insert(ARGS)
        connection.commit()
    assert count_jobs(postgres_driver) == 0
