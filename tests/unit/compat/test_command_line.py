"""Celery's command line from inside a program: `app.start`, `app.worker_main`, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from river_compat.celery import Celery
from river_compat.celery.utils.nodenames import of_client
from river_compat.cli.celery_main import main
from river_core.drivers.base import Driver


@pytest.fixture
def app(driver: Driver) -> Iterator[Celery]:
    """An application on a migrated database."""
    app = Celery("commands", set_as_current=False, river_driver=driver)

    @app.task(shared=False, name="add")
    def add(x: int, y: int) -> int:
        return x + y

    yield app
    app.close()


def test_the_worker_is_named_by_its_command(app: Celery) -> None:
    """Row 15.12. Other arguments are no worker's, as with Celery."""
    with pytest.raises(ValueError, match="worker sub-command"):
        app.worker_main(["-l", "INFO"])


def test_commands_run_for_the_application_itself(app: Celery, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows 15.11, 15.12. No `-A` is needed."""
    assert app.start(["call", "add", "-a", "[1, 2]"]) == 0
    task_id = capsys.readouterr().out.strip()
    assert app.AsyncResult(task_id).exists()
    assert app.start(["result", task_id]) == 0
    assert capsys.readouterr().out.startswith("PENDING\n  row ")
    assert app.start(["status", "-t", "0.1"]) == 69
    assert "No nodes replied" in capsys.readouterr().err


def test_settings_of_the_command_line_reach_the_application(app: Celery) -> None:
    """Row 15.10."""
    app.config_from_cmdline(["worker.concurrency=4", ".max_tasks_per_child=7"], namespace="worker")
    assert (app.conf.worker_concurrency, app.conf.worker_max_tasks_per_child) == (4, 7)


@pytest.mark.parametrize("name", ["amqp", "graph", "list", "logtool", "migrate", "multi", "upgrade"])
def test_commands_that_are_not_here_say_what_there_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Row 15.11. In one line, with status 2."""
    assert main(["-A", "proj", name, "--whatever"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"Error: No such command {name!r}: ")


@pytest.mark.parametrize("option", ["--uid", "--gid"])
def test_a_user_who_does_not_exist_is_named(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Row 15.4. Nothing of the worker is begun as somebody else."""
    assert main(["-A", "proj", "worker", option, "no-such-name"]) == 2
    assert "does not exist: no-such-name" in capsys.readouterr().err


def test_a_worker_is_named_as_it_was_told() -> None:
    """Row 15.3. The id under which rows are claimed tells starts apart, the name does not."""
    assert of_client("w1@host_9f86d081_pyl") == "w1@host"
    assert of_client("go_client_9f86d081") == "go_client_9f86d081"
