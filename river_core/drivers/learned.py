"""What a Postgres driver has learned of its server, asked once and only remembered when answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from river_core.db.server import server_of
from river_core.db.statement import Dialect, Sql, Statement
from river_core.drivers.base import Row


class LearnedSql:
    """The statements of one driver: first those that suit every Postgres, then those of the very server."""

    def __init__(self, schema: str) -> None:
        """Take the schema; raises ConfigurationError for a name that River refuses."""
        self.sql = Sql(Dialect.POSTGRES, schema)
        self._known = False

    def learn(self, fetch: Callable[[Statement], list[Row]]) -> None:
        """Ask the server, by a connection's `fetch`, unless it has answered before; raises DatabaseError."""
        if not self._known:
            self._take(fetch(self.sql.statement("session_server"))[0])

    async def learn_awaited(self, fetch: Callable[[Statement], Awaitable[list[Row]]]) -> None:
        """Do the same by an awaited connection's `fetch`."""
        if not self._known:
            self._take((await fetch(self.sql.statement("session_server")))[0])

    def _take(self, row: Row) -> None:
        self.sql = Sql(Dialect.POSTGRES, self.sql.schema, server_of(row))
        self._known = True


class OtherSchema:
    """The statements of another schema on a server that a driver learns about."""

    def __init__(self, schema: str, learned: LearnedSql | OtherSchema) -> None:
        """Take the schema; raises ConfigurationError for a name that River refuses."""
        self._own = Sql(Dialect.POSTGRES, schema)
        self._learned = learned

    @property
    def sql(self) -> Sql:
        """The statements, for the server as it is known by now."""
        return replace(self._own, server=self._learned.sql.server)

    def learn(self, fetch: Callable[[Statement], list[Row]]) -> None:
        """Ask the server as the driver does."""
        self._learned.learn(fetch)
