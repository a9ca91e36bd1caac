"""The worker as a process: signals, exit codes and what they leave in the rows."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.acceptance.commands import WorkerProcess, environment, query, run, wait_for, worker

TASKS = '''
import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from river_compat.celery import Celery

app = Celery("tasks")


@app.task
def hold(name):
    """Run until the file `<name>.go` appears."""
    Path(f"{name}.started").touch()
    while not Path(f"{name}.go").exists():
        time.sleep(0.01)
    return name


@app.task
def block(name):
    """Sleep in one C call, which nothing can interrupt."""
    Path(f"{name}.started").touch()
    time.sleep(60)


@app.task
def quick():
    return "done"
'''
OUTPUTS = {
    True: "SELECT metadata->>'output' FROM river_job WHERE state = 'completed'",
    False: "SELECT json_extract(json(metadata), '$.output') FROM river_job WHERE state = 'completed'",
}
STOPPING = "stopping"
NO_MORE_CLAIMS = "claiming no more"


class Site:
    """A directory with an application and a migrated database."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.env = {"RIVER_DATABASE_URL": url}
        (folder / "tasks.py").write_text(TASKS)
        assert run("migrate", "up", env=self.env).code == 0

    def send(self, call: str) -> None:
        """Make one call in a producer process, for example `hold.delay('a')`."""
        script = f"from tasks import *; {call}"
        subprocess.run([sys.executable, "-c", script], cwd=self.folder, env=environment(self.env), check=True)

    def rows(self) -> list[tuple[str, int]]:
        """State and attempt of every row."""
        return query(self.url, "SELECT CAST(state AS text), attempt FROM river_job ORDER BY id")

    def outputs(self) -> list[str]:
        """The stored results."""
        rows = query(self.url, OUTPUTS[self.url.startswith("postgres")])
        return [text for (text,) in rows]

    def wait_started(self, name: str) -> None:
        """Wait until the task is inside its function."""
        wait_for(lambda: (self.folder / f"{name}.started").exists(), f"start of {name}")

    def release(self, name: str) -> None:
        """Let `hold(name)` return."""
        (self.folder / f"{name}.go").touch()

    def worker(self, *arguments: str) -> AbstractContextManager[WorkerProcess]:
        """Start a worker on it."""
        return worker(self.folder, *arguments, env=self.env)


@pytest.fixture
def site(tmp_path: Path, database_url: str) -> Site:
    """An application on each database."""
    return Site(tmp_path, database_url)


def stop_while_running(site: Site, process: WorkerProcess, call: str, number: int = signal.SIGTERM) -> None:
    """Have the worker run `call`, on a task named a, and ask it to stop."""
    site.send(call)
    site.wait_started("a")
    process.signal(signal.Signals(number))
    process.wait_logged(STOPPING)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_drains(site: Site, number: int) -> None:
    """The running task finishes, its result is stored, the code is 0; nothing new is claimed meanwhile.

    Checklist 156.
    """
    with site.worker() as process:
        stop_while_running(site, process, "hold.delay('a')", number)
        site.send("quick.delay()")
        assert process.process.poll() is None
        site.release("a")
        assert process.exit_code() == 0
    assert site.rows() == [("completed", 1), ("available", 0)]
    assert site.outputs() == ["a"]


def test_a_second_signal_interrupts(site: Site) -> None:
    """The row is available again with its attempt restored and no error; the code is 1.

    Checklist 156, 157.
    """
    with site.worker() as process:
        stop_while_running(site, process, "hold.delay('a')")
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 1
    assert site.rows() == [("available", 0)]
    assert query(site.url, "SELECT errors IS NULL FROM river_job") == [(True,)]


def test_an_interrupted_task_runs_again(site: Site) -> None:
    """Checklist 157. The next worker takes the row that was given back."""
    with site.worker() as process:
        stop_while_running(site, process, "hold.delay('a')")
        process.signal(signal.SIGTERM)
        process.exit_code()
    site.release("a")
    with site.worker() as process:
        wait_for(lambda: site.rows() == [("completed", 1)], "the second run")
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0


def test_a_task_that_cannot_be_interrupted_is_given_back_before_the_forced_exit(site: Site) -> None:
    """After five seconds of grace the row is available and the process ends with code 1.

    Checklist 156, 157.
    """
    with site.worker() as process:
        stop_while_running(site, process, "block.delay('a')")
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 1
    assert site.rows() == [("available", 0)]


def test_stop_timeout_interrupts_by_itself(site: Site) -> None:
    """Checklist 156, 157. With --stop-timeout one signal is enough."""
    with site.worker("--stop-timeout", "0.5") as process:
        stop_while_running(site, process, "hold.delay('a')")
        assert process.exit_code() == 1
    assert site.rows() == [("available", 0)]


def test_tstp_only_stops_claiming(site: Site) -> None:
    """Checklist 156. The process stays and finishes what runs, takes nothing new, and drains at TERM."""
    with site.worker() as process:
        site.send("hold.delay('a')")
        site.wait_started("a")
        process.signal(signal.SIGTSTP)
        process.wait_logged(NO_MORE_CLAIMS)
        site.send("quick.delay()")
        site.release("a")
        wait_for(lambda: site.rows()[0] == ("completed", 1), "the running task's end")
        assert process.process.poll() is None
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0
    assert site.rows() == [("completed", 1), ("available", 0)]


def test_a_killed_worker_leaves_the_row_running(site: Site) -> None:
    """Nobody could write the end; the attempt stays counted and its owner named."""
    with site.worker("-n", "crash@here") as process:
        site.send("hold.delay('a')")
        site.wait_started("a")
        process.signal(signal.SIGKILL)
        assert process.exit_code() == -signal.SIGKILL
    assert site.rows() == [("running", 1)]


def test_solo_runs_tasks_in_the_main_thread_and_drains(site: Site) -> None:
    """-P solo works one task at a time and stops like the others."""
    with site.worker("-P", "solo") as process:
        stop_while_running(site, process, "hold.delay('a')")
        site.release("a")
        assert process.exit_code() == 0
    assert site.rows() == [("completed", 1)]


def test_the_worker_says_what_it_works_on(site: Site) -> None:
    """The banner names queues and tasks; the log can be JSON lines in a file."""
    log = site.folder / "lines.json"
    with site.worker("-Q", "celery,mail", "--log-format", "json", "-f", str(log)) as process:
        site.send("quick.delay()")
        wait_for(lambda: site.rows() == [("completed", 1)], "the task")
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0
    said = process.log.read_text()
    assert all(part in said for part in ("celery, mail", "tasks.hold", "tasks.quick"))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    assert any("tasks.quick" in line["message"] for line in lines)


def test_queues_are_chosen_by_name(site: Site) -> None:
    """-Q takes rows of the named queues alone."""
    site.send("quick.delay(); quick.apply_async(queue='mail')")
    with site.worker("-Q", "mail") as process:
        wait_for(lambda: ("completed", 1) in site.rows(), "the mail")
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0
    assert site.rows() == [("available", 0), ("completed", 1)]


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("postgresql://127.0.0.1:1/x", "port 1"),
        (
            "sqlite:///empty.db",
            "no River tables: SQLite file {folder}/empty.db; run `river-compat migrate up`",
        ),
        ("sqlite:///none.db", "no database file {folder}/none.db; check the path and the working directory"),
    ],
)
def test_a_worker_that_cannot_start_ends_with_1(tmp_path: Path, url: str, text: str) -> None:
    """No database, or no tables in it: one line that says so."""
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "empty.db").touch()
    ran = run("-A", "tasks", "worker", cwd=tmp_path, env={"RIVER_DATABASE_URL": url})
    assert ran.code == 1
    assert text.format(folder=tmp_path) in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("setting", ["worker.concurency=4", "worker.concurrency=many"])
def test_a_setting_that_is_refused_is_a_wrong_call(tmp_path: Path, setting: str) -> None:
    """A misspelt name, or a value of another type, behind the options: named, without a traceback."""
    (tmp_path / "tasks.py").write_text(TASKS)
    ran = run("-A", "tasks", "worker", setting, cwd=tmp_path)
    assert ran.code == 2
    assert repr(setting) in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_database_without_tables_is_named_without_its_password(tmp_path: Path, postgres_url: str) -> None:
    """Somebody who migrated another database sees which one the worker looks at."""
    (tmp_path / "tasks.py").write_text(TASKS)
    parts = urlsplit(postgres_url)
    user = parts.username or "postgres"
    secret = parts.password or "s3cret"  # a server that trusts everyone does not look at it
    with_secret = parts._replace(netloc=f"{user}:{secret}@{parts.netloc.rpartition('@')[2]}")
    ran = run("-A", "tasks", "worker", cwd=tmp_path, env={"RIVER_DATABASE_URL": urlunsplit(with_secret)})
    assert ran.code == 1
    assert f"no River tables: postgresql://{user}:***@" in ran.stderr
    assert secret not in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((), ["-A"]),
        (("-A", ""), ["''", "proj:app"]),
        (("-A", "tasks:"), ["'tasks:'", "proj:app"]),
        (("-A", "tasks.py"), ["tasks has nothing named 'py'"]),
        (("-A", "./tasks"), ["'./tasks'", "proj:app"]),
        (("-A", "json"), ["json", "no Celery application"]),
        (("-A", "proj"), ["proj", "no Celery application"]),
        (("-A", "proj.billing"), ["proj.billing", "no Celery application"]),
        (("-A", "old"), ["old", "one of the package celery", "river_compat.celery"]),
        (("-A", "nowhere"), ["nowhere"]),
        (("-A", "empty"), ["empty", "Celery"]),
        (("-A", "tasks:missing"), ["tasks:missing"]),
    ],
)
def test_an_application_that_is_not_there_is_named(
    tmp_path: Path, arguments: tuple[str, ...], parts: list[str]
) -> None:
    """Without an application there is nothing to run: usage error."""
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "old.py").write_text("from celery import Celery\napp = Celery('old')\n")
    (tmp_path / "proj/billing").mkdir(parents=True)
    for package in ("proj", "proj/billing"):
        (tmp_path / package / "__init__.py").touch()
    ran = run(*arguments, "worker", cwd=tmp_path)
    assert ran.code == 2
    assert all(part in ran.stderr for part in parts), ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_error_in_the_submodule_celery_is_shown(tmp_path: Path) -> None:
    """`proj.celery` exists and breaks: that is what the reader must see."""
    (tmp_path / "proj").mkdir()
    (tmp_path / "proj/__init__.py").touch()
    (tmp_path / "proj/celery.py").write_text("1 / 0\n")
    ran = run("-A", "proj", "worker", cwd=tmp_path)
    assert ran.code == 1
    assert "ZeroDivisionError" in ran.stderr


def test_a_broken_application_shows_where_it_breaks(tmp_path: Path) -> None:
    """An error inside the application's module is shown with its traceback, not hidden."""
    (tmp_path / "tasks.py").write_text("import no_such_module_of_mine\n")
    ran = run("-A", "tasks", "worker", cwd=tmp_path)
    assert ran.code == 1
    assert "no_such_module_of_mine" in ran.stderr
    assert "tasks.py" in ran.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("-D",),
        ("-P", "gevent"),
        ("-P", "eventlet"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Nothing that would change behaviour is ignored."""
    (tmp_path / "tasks.py").write_text(TASKS)
    ran = run("-A", "tasks", "worker", *arguments, cwd=tmp_path)
    assert ran.code == 2
    refused = arguments[1] if arguments[0] == "-P" else arguments[0].partition("=")[0]
    assert refused in ran.stderr
    assert "not supported" in ran.stderr


def test_meaningless_flags_of_start_scripts_are_accepted_with_one_notice(
    tmp_path: Path, sqlite_path: Path
) -> None:
    """All of them together start a worker, and one line says that they do nothing."""
    site = Site(tmp_path, f"sqlite:///{sqlite_path}")
    without = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    flags = ["-O", "fair", "-E", "--prefetch-multiplier=1", *without]
    with site.worker(*flags) as process:
        site.send("quick.delay()")
        wait_for(lambda: site.rows() == [("completed", 1)], "the task")
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0
    notices = [line for line in process.log.read_text().splitlines() if "without effect" in line]
    assert len(notices) == 1
    assert "--without-gossip" in notices[0]


HALF_MIGRATED = """
from celery.exceptions import Ignore
from river_compat.celery import Celery

app = Celery("tasks")
app.conf.update(
    worker_prefetch_multiplier=1,
    broker_transport_options={"visibility_timeout": 60},
    beat_schedule={"sweep": {"task": "tasks.quick", "schedule": 60}},
)


@app.task
def quick():
    return "done"
"""


LEFT_BEHIND = """
from celery import shared_task
from celery.exceptions import Retry


@shared_task
def deliver():
    return "sent"
"""


def warnings_of_a_start(site: Site) -> list[str]:
    """What a worker logs at WARNING until it is ready to stop."""
    log = site.folder / "lines.json"
    with site.worker("--log-format", "json", "-f", str(log)) as process:
        site.send("quick.delay()")
        wait_for(lambda: site.rows() == [("completed", 1)], "the task")
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line["message"] for line in lines if line["level"] == "WARNING"]


def test_a_start_says_once_what_does_nothing_here(tmp_path: Path, sqlite_path: Path) -> None:
    """Settings and imports of the old package: one line each, in this order."""
    site = Site(tmp_path, f"sqlite:///{sqlite_path}")
    (tmp_path / "tasks.py").write_text(HALF_MIGRATED)
    settings, imports = warnings_of_a_start(site)
    assert settings == ("settings without effect here: broker_transport_options, worker_prefetch_multiplier")
    assert "by tasks (Ignore of celery.exceptions)" in imports
    assert "pip uninstall celery" in imports


def test_a_clean_start_warns_of_nothing(tmp_path: Path, sqlite_path: Path) -> None:
    """An installed Celery that nobody imports is no reason."""
    assert warnings_of_a_start(Site(tmp_path, f"sqlite:///{sqlite_path}")) == []


def test_a_task_left_with_celery_is_named(tmp_path: Path, sqlite_path: Path) -> None:
    """Its module has no task of ours, and this is what a newcomer looks for."""
    site = Site(tmp_path, f"sqlite:///{sqlite_path}")
    (tmp_path / "mail.py").write_text(LEFT_BEHIND)
    (tmp_path / "tasks.py").write_text(f"import mail\n{TASKS}")
    [said] = warnings_of_a_start(site)
    assert "by mail (shared_task of celery" in said
    assert "deliver of celery.local" in said
    assert "tasks" not in said.partition(". ")[0]
    assert "unknown to this worker" in said
    assert "amqp://localhost" in said


def test_our_package_under_celerys_name_is_no_leftover(tmp_path: Path, sqlite_path: Path) -> None:
    """After `install_as` the imports of celery are ours."""
    site = Site(tmp_path, f"sqlite:///{sqlite_path}")
    (tmp_path / "mail.py").write_text(LEFT_BEHIND)
    alias = 'import river_compat\nriver_compat.install_as("celery")\nimport mail\n'
    (tmp_path / "tasks.py").write_text(alias + TASKS)
    assert warnings_of_a_start(site) == []


def test_other_commands_do_not_speak_of_settings(tmp_path: Path) -> None:
    """A migration needs the application's database, not its settings."""
    (tmp_path / "tasks.py").write_text(HALF_MIGRATED)
    ran = run("-A", "tasks", "migrate", "up", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
