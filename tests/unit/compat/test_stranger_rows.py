"""What a row that somebody else wrote can do to the program that reads its result: nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from river_compat.celery import Celery
from river_compat.celery.exceptions import BackendGetMetaError
from river_compat.results import rebuild_exception
from river_core import Client, EncodedArgs, Migrator

ENVELOPE = '{"version":1,"task":{"id":"them","framework":"celery","name":"n","body":"[[],{},{}]"}}'


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Celery]:
    """An application on a SQLite file."""
    with Celery("strangers", broker=f"sqlite:///{tmp_path}/river.sqlite3", set_as_current=False) as app:
        Migrator(app.runtime.driver).migrate_up()
        yield app


def completed(app: Celery, metadata: str) -> int:
    """A finished row with this metadata; its id is 1."""
    driver = app.runtime.driver
    job = Client(driver).insert(EncodedArgs("python_task", ENVELOPE)).job
    with driver.connect() as connection:
        connection.run_script(
            f"UPDATE river_job SET state = 'completed', finalized_at = '2026-01-01 00:00:00.000', "
            f"metadata = jsonb('{metadata}') WHERE id = {job.id}"
        )
    return job.id


@pytest.mark.parametrize("following", ["1", '"1"', '"²"', str(10**30), "-1", "null", "true"])
def test_a_retry_id_that_leads_nowhere_ends_the_search(app: Celery, following: str) -> None:
    """Not even one that names its own row makes the reader turn in circles."""
    completed(app, f'{{"python_task_outcome":"retried","python_task_retry_id":{following}}}')
    assert app.AsyncResult("them").state == "RETRY"


@pytest.mark.parametrize("metadata", ['{"python_task_children":5}', '{"python_task_result":5}'])
def test_metadata_of_the_wrong_type_is_a_typed_error(app: Celery, metadata: str) -> None:
    """The text names the row."""
    row_id = completed(app, metadata)
    with pytest.raises(BackendGetMetaError, match=f"row {row_id} of task them"):
        _ = app.AsyncResult("them").state


@pytest.mark.parametrize("name", ["SystemExit", "KeyboardInterrupt", "GeneratorExit"])
def test_a_stored_exception_cannot_end_the_reader(name: str) -> None:
    """It becomes an exception of that name that an `except Exception` catches."""
    data: dict[str, Any] = {"exc_type": name, "exc_module": "builtins", "exc_message": ["x"]}
    error = rebuild_exception(data, "made_up")
    assert isinstance(error, Exception)
    assert type(error).__name__ == name
