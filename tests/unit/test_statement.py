"""Statements: their files, parameters, schema and times."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from importlib.resources import files

import pytest
from sqlalchemy import text
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2 as PGDialect

from river_core.db.statement import (
    Dialect,
    Sql,
    _texts,
    as_named,
    as_numbered,
    as_pyformat,
    parameter_names,
    qualify,
    round_half_up,
    sqlite_time,
)
from river_core.errors import ConfigurationError

OF_ONE_DIALECT = (
    "session_",
    "transaction_",
    "notification_",
    "copy_",
    "job_insert_plain",
    "job_insert_alike",
    "client_lock_",
    "held_client_locks",
    "job_next_due",
)
"""What a driver asks of its own database, the locks that only Postgres keeps, and when the next job falls
due, which on Postgres comes with the claim."""


def texts(dialect: Dialect, schema: str = "") -> dict[str, str]:
    """Return every statement of a dialect by name."""
    return _texts(dialect, schema)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT @a::text, @b_2", "SELECT %(a)s::text, %(b_2)s"),
        ("a @> b AND c @@ d AND e <@ @f", "a @> b AND c @@ d AND e <@ %(f)s"),
        ("SELECT '@a', \"@b\", @c", "SELECT '@a', \"@b\", %(c)s"),
        ("SELECT 'it''s @a' -- and @b\n, @c", "SELECT 'it''s @a' -- and @b\n, %(c)s"),
        ("SELECT /* not @a,\n nor @b */ @c", "SELECT /* not @a,\n nor @b */ %(c)s"),
        ("SELECT 7 % 2, '100%', @a", "SELECT 7 %% 2, '100%%', %(a)s"),
        ("SELECT m@example", "SELECT m@example"),
    ],
)
def test_only_parameters_are_rewritten(sql: str, expected: str) -> None:
    """Operators, quoted text, comments and addresses stay; percent signs are doubled."""
    assert as_pyformat(sql) == expected


def test_parameters_are_numbered_for_postgres() -> None:
    """By first use, the same number each time; percent signs stay."""
    assert as_numbered("SELECT @b::text, '@a %', @a + @b, 7 % 2") == "SELECT $1::text, '@a %', $2 + $1, 7 % 2"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT @a::text, '@a', ':b', \"c:d\", '%H:%M:%f', x[1:2], ARRAY[@b]::text[] /* :e, @f */",
        "SELECT m@example, a @> b, c::/* :x */text",
    ],
)
def test_only_parameters_are_named_for_sqlalchemy(sql: str) -> None:
    """What it makes of the text again has the same parameters, and every other colon and sign as it was."""
    made = text(as_named(sql)).compile(dialect=PGDialect())
    assert str(made) == as_pyformat(sql)


def test_parameter_names_come_in_order_of_first_use() -> None:
    """Each once, and none from quoted text."""
    assert parameter_names("SELECT @b, @a, @b, '@c'") == ("b", "a")


@pytest.mark.parametrize("schema", ["", "jobs"])
@pytest.mark.parametrize("dialect", list(Dialect))
def test_no_template_is_left_in_a_statement(dialect: Dialect, schema: str) -> None:
    """Fragments are filled in and names carry the schema, if any."""
    for name, sql in texts(dialect, schema).items():
        assert "/*" not in sql, name
        assert sql, name
        assert not sql.endswith(";"), name
    assert (f'"{schema}".river_job' in texts(dialect, schema)["job_get_by_id"]) == bool(schema)


def test_both_dialects_have_the_same_statements() -> None:
    """Fragments aside, and what only one of the databases can be asked."""
    postgres, sqlite = (
        {name for name in texts(dialect) if not name.startswith(OF_ONE_DIALECT)} - fragments(dialect)
        for dialect in Dialect
    )
    assert postgres == sqlite


def fragments(dialect: Dialect) -> set[str]:
    """Return the names that other statements of a dialect include."""
    folder = files("river_core.db").joinpath(dialect.value)
    included: set[str] = set()
    for entry in folder.iterdir():
        if entry.name.endswith(".sql"):
            included.update(re.findall(r"/\* INCLUDE: (\w+) \*/", entry.read_text("utf-8")))
    return included


@pytest.mark.parametrize(
    ("values", "postgres", "sqlite"),
    [
        ([], "{}", "[]"),
        ([1, -2], "{1,-2}", "[1, -2]"),
        (["a", "NULL", "{,}", "é"], '{"a","NULL","{,}","é"}', '["a", "NULL", "{,}", "é"]'),
        (['say "x"', "b\\c"], r'{"say \"x\"","b\\c"}', r'["say \"x\"", "b\\c"]'),
    ],
)
def test_an_array_is_a_literal_or_json(values: list[int | str], postgres: str, sqlite: str) -> None:
    """Texts are quoted, so that no character and no word means anything."""
    assert Sql(Dialect.POSTGRES).array(values) == postgres
    assert Sql(Dialect.SQLITE).array(values) == sqlite


def test_an_unknown_statement_is_a_key_error() -> None:
    """It is a mistake in our own code."""
    with pytest.raises(KeyError):
        Sql(Dialect.SQLITE).statement("no_such_statement")


def test_a_schema_is_quoted() -> None:
    """The migrator takes any identifier."""
    assert qualify("/* TEMPLATE: schema */t", 'a"b') == '"a""b".t'


@pytest.mark.parametrize("schema", ["a" * 46, "_a", "A1"])
def test_schema_names_that_other_clients_take(schema: str) -> None:
    """ASCII letters, digits and underscores, not starting with a digit."""
    assert Sql(Dialect.POSTGRES, schema).schema == schema


@pytest.mark.parametrize("schema", ["a" * 47, "1a", "a-b", "é", "a\n", 'a"'])
def test_schema_names_that_other_clients_refuse(schema: str) -> None:
    """The text names the schema."""
    with pytest.raises(ConfigurationError, match="schema"):
        Sql(Dialect.POSTGRES, schema)


@pytest.mark.parametrize(
    ("microseconds", "expected"),
    [(0, 0), (499, 0), (500, 1), (1499, 1), (1500, 2), (999_499, 999), (999_500, 1000)],
)
def test_halves_round_toward_the_future(microseconds: int, expected: int) -> None:
    """As River rounds times for SQLite."""
    assert round_half_up(microseconds) == expected


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (datetime(2026, 8, 7, 14, 32, 57, tzinfo=UTC), "2026-08-07 14:32:57.000"),
        (datetime(2026, 8, 7, 14, 32, 57, 123500, UTC), "2026-08-07 14:32:57.124"),
        (datetime(2026, 12, 31, 23, 59, 59, 999_500, UTC), "2027-01-01 00:00:00.000"),
        (datetime(1969, 12, 31, 23, 59, 59, 999_500, UTC), "1970-01-01 00:00:00.000"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31 23:59:59.999"),
        (datetime(1, 1, 1, 0, 0, 0, 999_500, UTC), "0001-01-01 00:00:01.000"),
        (datetime(2026, 8, 7, 1, tzinfo=timezone(timedelta(hours=2))), "2026-08-06 23:00:00.000"),
    ],
)
def test_times_on_sqlite_have_23_characters(moment: datetime, expected: str) -> None:
    """UTC with exactly three digits."""
    assert sqlite_time(moment) == expected


def test_a_dialect_gives_times_in_its_own_form() -> None:
    """None stays None."""
    moment = datetime(2026, 8, 7, 14, 32, 57, 123456, UTC)
    assert Sql(Dialect.POSTGRES).time(moment) == "2026-08-07T14:32:57.123456+00:00"
    assert Sql(Dialect.SQLITE).time(moment) == "2026-08-07 14:32:57.123"
    assert Sql(Dialect.SQLITE).time(None) is None
