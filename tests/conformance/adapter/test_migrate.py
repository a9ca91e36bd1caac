"""River's scenarios of migrations: each adapter goes on where the other stopped."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from tests.conformance.adapter.process import Adapter
from tests.conformance.adapter.scene import Scene

REJECTED = -32002
LATEST = 8
EVERYTHING = -1
LONGEST_SCHEMA = 46


@dataclass
class Bare:
    """Two adapters and a place without River's schema."""

    first: Adapter
    second: Adapter
    place: dict[str, Any]

    def migrate(self, adapter: Adapter, **params: Any) -> list[int]:
        """Migrate and return the versions that were moved."""
        versions: list[int] = adapter.call("migrate", **self.place, **params)["versions"]
        return versions

    def works(self, adapter: Adapter, client_id: str) -> bool:
        """Whether the adapter inserts a job and works it, and the other one sees that."""
        [result] = adapter.call("insert", jobs=[{"message": "x"}], **self.place)["results"]
        adapter.call("start", client_id=client_id, **self.place)
        Scene.until("the work", lambda: self._state(self.first, result["job"]["id"]) == "completed")
        adapter.call("stop")
        return self._state(self.second, result["job"]["id"]) == "completed"

    def _state(self, adapter: Adapter, job_id: int) -> str:
        [job] = adapter.call("list", ids=[job_id], **self.place)["jobs"]
        return str(job["state"])


def new_schema(scene: Scene, name: str) -> str:
    """Create a schema beside the scene's."""
    with scene.driver.connect() as connection:
        connection.raw.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    return name


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bare]:
    """A schema of its own on Postgres, a file of its own on SQLite."""
    if request.param == "postgres":
        scene: Scene = request.getfixturevalue("on_postgres")
        yield Bare(scene.first, scene.second, {"schema": new_schema(scene, f"bare_{secrets.token_hex(4)}")})
        return
    first, second = (Adapter("sqlite", str(tmp_path / "bare.sqlite3"), "x") for _ in range(2))
    yield Bare(first, second, {})
    for adapter in (first, second):
        assert adapter.end_input() == 0
        adapter.close()


def up_to(version: int) -> list[int]:
    """The versions from the first to this one."""
    return list(range(1, version + 1))


def test_every_version_is_taken_up_and_back_across_clients(bare: Bare) -> None:
    """Checklist 10. Migrate, History: each sees the versions that the other applied."""
    assert bare.migrate(bare.first) == up_to(LATEST)
    assert bare.migrate(bare.second) == []
    assert bare.migrate(bare.second, direction="down") == [LATEST]
    assert bare.migrate(bare.first, direction="down", target_version=EVERYTHING) == up_to(LATEST - 1)[::-1]
    for version in up_to(LATEST):
        rest = list(range(version + 1, LATEST + 1))
        assert bare.migrate(bare.first, target_version=version) == up_to(version)
        assert bare.migrate(bare.second) == rest
        assert bare.migrate(bare.first, direction="down", target_version=version) == rest[::-1]
        assert bare.migrate(bare.second) == rest
        assert bare.migrate(bare.second, direction="down", target_version=EVERYTHING) == up_to(LATEST)[::-1]


def test_a_runtime_works_on_the_schema_of_another_migrator(bare: Bare) -> None:
    """Migrate, MigratorThenRuntime: a schema that was removed and made again."""
    bare.migrate(bare.first)
    bare.migrate(bare.first, direction="down", target_version=EVERYTHING)
    assert bare.second.refuse("insert", jobs=[{"message": "x"}], **bare.place) == REJECTED
    assert bare.migrate(bare.first) == up_to(LATEST)
    assert bare.works(bare.second, "migrated-runtime")


@pytest.mark.postgres
def test_schemas_have_up_to_46_characters_and_keep_their_capitals(on_postgres: Scene) -> None:
    """Migrate, CustomSchema."""
    scene = on_postgres
    start = f"custom_{secrets.token_hex(4)}_"
    longest = new_schema(scene, start + "s" * (LONGEST_SCHEMA - len(start)))
    mixed = new_schema(scene, "MixedCase" + start)
    for schema in (longest, mixed):
        bare = Bare(scene.first, scene.second, {"schema": schema})
        assert bare.migrate(scene.first) == up_to(LATEST)
        assert bare.migrate(scene.second) == []
        assert bare.works(scene.second, "custom-schema")
    for method in ("insert", "migrate", "start"):
        params: dict[str, Any] = {"jobs": [{"message": "x"}]} if method == "insert" else {}
        assert scene.second.refuse(method, schema=longest + "s", **params) == REJECTED
