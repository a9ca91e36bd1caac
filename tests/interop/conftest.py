"""What the tests with River's Go client need: a binary of the peer in `go_peer`, named by RIVER_GO_PEER."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from river_core import open_driver
from tests.databases import migrate
from tests.interop.peers import Site

GO_PEER = os.environ.get("RIVER_GO_PEER", "")


@pytest.fixture
def go_binary() -> str:
    """The path of the Go peer's binary; a named skip without one, on CI as well, which has no Go."""
    if not GO_PEER:
        pytest.skip("needs River's Go client: RIVER_GO_PEER=/path/to/binary (tests/interop/README.md)")
    if not os.access(GO_PEER, os.X_OK):
        pytest.fail(f"RIVER_GO_PEER names no program: {GO_PEER!r}", pytrace=False)
    return GO_PEER


@pytest.fixture
def site(go_binary: str, postgres_url: str, tmp_path: Path) -> Site:
    """A migrated schema on Postgres for processes of both languages."""
    with closing(open_driver(postgres_url)) as driver:
        migrate(driver)
    return Site(postgres_url, tmp_path, go_binary)
