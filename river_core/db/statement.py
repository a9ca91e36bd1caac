"""A statement is a value: a name, its SQL text and its parameters.

The SQL lives in `.sql` files, one folder per dialect, each statement under a `-- name:` line. The
same names exist in both dialects. A driver runs statements and never learns what a job is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files

from river_core.db.server import ANY_SERVER, Duplicates, Server
from river_core.errors import ConfigurationError

Parameter = str | int | float | bytes | None

MAX_SCHEMA_LENGTH = 46
_SCHEMA = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
_NAME_LINE = re.compile(r"^-- name: (\w+)[^\n]*\n", re.MULTILINE)
_INCLUDE = re.compile(r"/\* INCLUDE: (\w+) \*/")
_TEMPLATE_SCHEMA = "/* TEMPLATE: schema */"
_QUOTED_OR_COMMENT = r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/"
_PARAMETER = re.compile(rf"(?P<skip>{_QUOTED_OR_COMMENT})|(?<![@\w])@(?P<name>\w+)", re.DOTALL)


class Dialect(StrEnum):
    """The two databases that River's schema exists for here."""

    POSTGRES = "postgres"
    SQLITE = "sqlite"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, ready to run. `sql` names its parameters `@name`, as River's own files do.

    `prepared` False is for a statement whose best plan depends on its parameters: it is planned for them
    each time, where a driver would otherwise keep one plan for all. `transactional` False is for one that
    cannot run in a transaction.
    """

    name: str
    sql: str
    parameters: Mapping[str, Parameter]
    prepared: bool = True
    transactional: bool = True
    data: str | None = None
    """What a COPY statement reads, as lines of COPY's text form."""


@dataclass(frozen=True)
class Sql:
    """The statements of one dialect for one schema.

    An empty schema leaves names to the connection's search_path (SQLite: the main database). `server` is
    what the driver has learned of a Postgres server. Where not `durable`, the commit of an insert or a claim
    on Postgres does not wait for the disk.
    """

    dialect: Dialect
    schema: str = ""
    server: Server = ANY_SERVER
    durable: bool = True

    def __post_init__(self) -> None:
        """Raise ConfigurationError for a schema name that River's clients refuse."""
        if self.schema and not (_SCHEMA.fullmatch(self.schema) and len(self.schema) <= MAX_SCHEMA_LENGTH):
            raise ConfigurationError(
                f"schema {self.schema!r} must match {_SCHEMA.pattern} and have at most {MAX_SCHEMA_LENGTH} "
                "characters: the notification channels carry it"
            )

    def statement(self, name: str, /, **parameters: Parameter) -> Statement:
        """Return the named statement with its parameters; KeyError for a name that no file has."""
        return Statement(name, self._own_texts[name], parameters)

    @cached_property
    def _own_texts(self) -> Mapping[str, str]:
        return _texts(self.dialect, self.schema, self.server, self.durable)

    @cached_property
    def relaxed(self) -> Sql:
        """The same statements, not durable."""
        return replace(self, durable=False)

    @property
    def tells_by_nonce(self) -> bool:
        """Whether every inserted row carries a nonce, by which duplicates are told."""
        return self.dialect is Dialect.SQLITE or self.server.duplicates is Duplicates.NONCE

    def time(self, moment: datetime | None) -> str | None:
        """Return an aware time as the text that this dialect's statements take; None stays None."""
        if moment is None:
            return None
        if self.dialect is Dialect.POSTGRES:
            return moment.isoformat()
        return sqlite_time(moment)

    def array(self, values: Iterable[str | int | None]) -> str:
        """Return values as the text of an array: a literal of Postgres, whose planner reads it, or JSON."""
        if self.dialect is Dialect.SQLITE:
            return json.dumps(list(values), ensure_ascii=False)
        return "{" + ",".join([_array_element(value) for value in values]) + "}"


def _array_element(value: str | int | None) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "NULL" if value is None else int.__repr__(value)


_LAST_SECOND = datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001 - compared with a time in UTC whose zone is cut off


def sqlite_time(moment: datetime) -> str:
    """Return UTC with exactly three fraction digits, rounded half up, as River stores it on SQLite.

    The last half millisecond of the year 9999 is rounded down.
    """
    utc = moment.astimezone(UTC)
    milliseconds = round_half_up(utc.microsecond)
    whole = utc.replace(microsecond=0, tzinfo=None)
    if milliseconds == 1000 and whole == _LAST_SECOND:
        milliseconds = 999
    if milliseconds == 1000:
        whole, milliseconds = whole + timedelta(seconds=1), 0
    return f"{whole.isoformat(' ')}.{milliseconds:03d}"


def round_half_up(microseconds: int) -> int:
    """Return microseconds as whole milliseconds, halves toward the future."""
    return (microseconds + 500) // 1000


def qualify(sql: str, schema: str) -> str:
    """Replace River's template comment by the quoted schema and a dot, or by nothing."""
    prefix = '"' + schema.replace('"', '""') + '".' if schema else ""
    return sql.replace(_TEMPLATE_SCHEMA, prefix)


@cache
def parameter_names(sql: str) -> tuple[str, ...]:
    """Return the names of a statement's parameters in the order of their first use."""
    names = (match["name"] for match in _PARAMETER.finditer(sql))
    return tuple(dict.fromkeys(name for name in names if name))


@cache
def as_pyformat(sql: str) -> str:
    """Rewrite `@name` to `%(name)s` for the drivers that want it; quoted text and comments stay."""
    return _PARAMETER.sub(lambda match: match["skip"] or f"%({match['name']})s", sql.replace("%", "%%"))


@cache
def as_numbered(sql: str) -> str:
    """Rewrite `@name` to `$1`, `$2` and so on, as Postgres takes them, in the order of `parameter_names`."""
    numbers = {name: number for number, name in enumerate(parameter_names(sql), 1)}
    return _PARAMETER.sub(lambda match: match["skip"] or f"${numbers[match['name']]}", sql)


@cache
def as_named(sql: str) -> str:
    """Rewrite `@name` to `:name` as SQLAlchemy's text() wants it; every other colon is escaped."""
    return _PARAMETER.sub(lambda match: match["skip"] or f":{match['name']}", sql.replace(":", "\\:"))


@cache
def _texts(
    dialect: Dialect, schema: str, server: Server = ANY_SERVER, durable: bool = True
) -> dict[str, str]:
    raw = _folder(dialect.value)
    if dialect is Dialect.POSTGRES:
        raw |= _folder(f"{dialect.value}_{server.duplicates}")
        raw |= {} if durable else _folder(f"{dialect.value}_relaxed")
    texts = {name: qualify(_include(text, raw), schema) for name, text in raw.items()}
    return texts if server.notifies else {name: _silent(text) for name, text in texts.items()}


def _folder(name: str) -> dict[str, str]:
    """Return the statements of a folder; one for a kind of server holds only what is different there."""
    raw: dict[str, str] = {}
    for entry in sorted(files("river_core.db").joinpath(name).iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".sql"):
            raw.update(_split(entry.read_text("utf-8")))
    return raw


def _silent(sql: str) -> str:
    """Return a statement that notifies nobody, for a server that cannot: concat takes the same arguments."""
    return sql.replace("pg_notify(", "concat(")


def _split(text: str) -> dict[str, str]:
    pieces = _NAME_LINE.split(text)
    return {name: _bare(body) for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def _bare(body: str) -> str:
    lines = [line for line in body.splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip().rstrip(";")


def _include(text: str, raw: dict[str, str]) -> str:
    return _INCLUDE.sub(lambda match: _include(raw[match.group(1)], raw), text)
