"""Celery's API: what a user sees is what a user of Celery 5.7 sees, on Postgres and on SQLite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from river_compat.dev_database import Postgres
from tests.parity.backends import CASES, change_imports
from tests.parity.running import Run
from tests.parity.sessions import OURS, backends, runs

ANSWER_TIMEOUT = 150.0

pytestmark = [pytest.mark.redis, pytest.mark.postgres, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def observed(
    request: pytest.FixtureRequest, redis_url: str, postgres_server: Postgres
) -> Iterator[Mapping[str, Run]]:
    """The selected cases, running on every backend."""
    cases = dict.fromkeys(item.callspec.params["case"] for item in request.session.items if _is_case(item))
    with backends(redis_url, postgres_server.url) as found, runs(found, list(cases)) as started:
        yield started


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("backend", OURS)
def test_what_is_seen_is_the_same(observed: Mapping[str, Run], case: str, backend: str) -> None:
    """The case observes on ours exactly what it observes on real Celery."""
    expected = observed["celery"].observation(case, ANSWER_TIMEOUT)
    assert observed[backend].observation(case, ANSWER_TIMEOUT) == expected


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("from celery import Celery", "from river_compat.celery import Celery"),
        (
            "    from celery.result import AsyncResult",
            "    from river_compat.celery.result import AsyncResult",
        ),
        ("from celery_other import x", "from celery_other import x"),
        ("from kombu.exceptions import EncodeError", "from kombu.exceptions import EncodeError"),
        ('name = "from celery import"', 'name = "from celery import"'),
        ("# from celery import Celery", "# from celery import Celery"),
    ],
)
def test_only_import_lines_change(line: str, changed: str) -> None:
    """The two programs differ in their imports from Celery and in nothing else."""
    assert change_imports(f"x = 1\n{line}\n") == f"x = 1\n{changed}\n"


def _is_case(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and item.originalname == "test_what_is_seen_is_the_same"
