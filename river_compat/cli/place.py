"""Where a database is, in words that may be shown: no password, and a SQLite file by its whole path.

A wrong working directory is the usual reason for an empty database, so messages name the place.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from river_core.errors import OperationalError

IN_MEMORY = ":memory:"
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Place:
    """One database: the text to show, and its file where it is one."""

    text: str
    file: Path | None = None

    @property
    def is_missing(self) -> bool:
        """Whether it is a SQLite file that does not exist, which opening it would create."""
        return self.file is not None and not self.file.exists()

    def check_exists(self) -> None:
        """Raise OperationalError where reading would create an empty file."""
        if self.is_missing:
            raise OperationalError(
                f"there is no database file {self.file}; check the path and the working directory, or create "
                "it with `river-compat migrate up` on the same database"
            )


def place_of(url: str) -> Place:
    """Return the place that a database URL names."""
    parts = urlsplit(url)
    if parts.scheme != "sqlite":
        return Place(without_password(url))
    path = unquote(parts.path[1:])
    if path in ("", IN_MEMORY):
        return Place("a SQLite database in memory")
    file = Path(path).absolute()
    return Place(f"SQLite file {file}", file)


def without_password(url: str) -> str:
    """Return a URL that may be shown, whether the password stands before the host or among the options."""
    parts = urlsplit(url)
    host, query = parts.netloc, parts.query
    if parts.password is not None:
        host = f"{parts.username}:{_HIDDEN}@{host.rpartition('@')[2]}"
    if "password=" in query.lower():
        shown = [
            (name, _HIDDEN if name.lower().endswith("password") else value)
            for name, value in parse_qsl(query, keep_blank_values=True)
        ]
        query = urlencode(shown, quote_via=quote, safe="/*")
    return f"{parts.scheme}://{host}{parts.path}{f'?{query}' if query else ''}"
