"""The prefork pool of the real command: real children, real signals, and what they leave in the rows."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.commands import WorkerProcess, environment, query, run, wait_for, worker

TASKS = """
import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

from river_compat.celery import Celery
from river_compat.celery.exceptions import SoftTimeLimitExceeded

app = Celery("tasks")


def note(name):
    with open(f"{name}.pids", "a") as file:
        file.write(f"{os.getpid()}\\n")


@app.task
def hold(name):
    note(name)
    while not Path(f"{name}.go").exists():
        time.sleep(0.01)
    return name


@app.task
def pid():
    return os.getpid()


@app.task
def die(name, number=signal.SIGKILL):
    note(name)
    os.kill(os.getpid(), number)


@app.task(acks_late=False)
def hold_once(name):
    note(name)
    while not Path(f"{name}.go").exists():
        time.sleep(0.01)


@app.task(acks_late=False)
def block_once(name):
    note(name)
    time.sleep(60)


@app.task(acks_late=False)
def die_once(name):
    note(name)
    os._exit(1)


@app.task(retry_on_worker_lost=True, max_retries=2, default_retry_delay=0)
def die_and_retry(name):
    note(name)
    os._exit(1)


@app.task
def leave():
    raise SystemExit(3)


@app.task
def starve():
    raise MemoryError("none left")


class Telling(app.Task):
    def on_failure(self, exc, task_id, args, kwargs, einfo):
        Path("failed").write_text(f"{exc!r} {os.getpid()}")

    def after_return(self, status, retval, task_id, args, kwargs, einfo):
        Path("returned").write_text(f"{status} {retval!r}")


@app.task(base=Telling, soft_time_limit=1, time_limit=60)
def polite():
    try:
        time.sleep(600)
    except SoftTimeLimitExceeded:
        return "cleaned up"


@app.task(base=Telling, time_limit=0.5)
def stubborn():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


def sleep(name):
    note(name)
    time.sleep(60)


slow = app.task(acks_late=True, acks_on_timeout=False, name="slow")(sleep)
slow_by_both = app.task(acks_late=True, acks_on_failure_or_timeout=False, name="slow_by_both")(sleep)
slow_but_acknowledged = app.task(
    acks_late=True, acks_on_failure_or_timeout=False, acks_on_timeout=True, name="slow_but_acknowledged"
)(sleep)


def fail(name):
    note(name)
    raise ValueError(name)


fails_unacknowledged = app.task(acks_late=True, acks_on_failure_or_timeout=False, name="unacknowledged")(fail)
fails_by_its_own = app.task(acks_late=True, acks_on_failure=False, name="by_its_own")(fail)
fails_and_retries = app.task(
    acks_late=True,
    acks_on_failure_or_timeout=False,
    autoretry_for=(ValueError,),
    max_retries=1,
    default_retry_delay=0,
    name="and_retries",
)(fail)


@app.task(autoretry_for=(Exception,), max_retries=1, retry_backoff=False, default_retry_delay=0)
def retried(name):
    note(name)
    time.sleep(60)


@app.task
def compute(name):
    note(name)
    sum(range(10**12))


@app.task
async def awaits(value):
    await asyncio.sleep(0.01)
    return [value, os.getpid()]


@app.task
def fails():
    raise type("Local", (Exception,), {"__reduce__": lambda self: 1 / 0})("broken")


@app.task
def sends():
    return pid.delay().id


@app.task(bind=True)
def progress(self, name):
    self.update_state(state="HALF", meta={"pid": os.getpid()})
    note(name)
    while not Path(f"{name}.go").exists():
        time.sleep(0.01)
"""
ROWS = "SELECT CAST(state AS text), attempt FROM river_job ORDER BY id"
METADATA = {
    True: "SELECT CAST(metadata AS text), CAST(array_to_json(errors) AS text) FROM river_job ORDER BY id",
    False: "SELECT json(metadata), json(errors) FROM river_job ORDER BY id",
}


class Site:
    """A directory with an application and a migrated database."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.env = {"RIVER_DATABASE_URL": url}
        (folder / "tasks.py").write_text(TASKS)
        assert run("migrate", "up", env=self.env).code == 0

    def send(self, *calls: str) -> None:
        """Make calls in a producer process."""
        script = "from tasks import *; " + "; ".join(calls)
        subprocess.run([sys.executable, "-c", script], cwd=self.folder, env=environment(self.env), check=True)

    def rows(self) -> list[tuple[str, int]]:
        """State and attempt of every row."""
        return query(self.url, ROWS)

    def results(self) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Metadata and errors of every row."""
        found = query(self.url, METADATA[self.url.startswith("postgres")])
        return [(json.loads(metadata), json.loads(errors or "[]")) for metadata, errors in found]

    def change(self, sql: str) -> None:
        """Change rows by plain SQL."""
        self.send("c = app.runtime.driver.connect().__enter__()", f"c.run_script({sql!r})")

    def pids(self, name: str) -> list[int]:
        """The processes that ran a task, wait for the first."""
        path = self.folder / f"{name}.pids"
        wait_for(lambda: path.exists() and path.read_text(), f"start of {name}")
        return [int(line) for line in path.read_text().split()]

    def release(self, name: str) -> None:
        """Let `hold(name)` return."""
        (self.folder / f"{name}.go").touch()

    def ended(self, seconds: float = 60.0) -> list[tuple[str, int]]:
        """Wait until every row is final."""
        final = {"completed", "discarded", "cancelled"}
        return wait_for(
            lambda: (rows := self.rows()) and {state for state, _ in rows} <= final and rows,
            "the end of all rows",
            seconds,
        )

    def worker(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> AbstractContextManager[WorkerProcess]:
        """Start a worker on it."""
        return worker(self.folder, *arguments, env={**self.env, **(env or {})})


@pytest.fixture
def site(tmp_path: Path, database_url: str) -> Site:
    """An application on each database."""
    return Site(tmp_path, database_url)


@pytest.fixture
def postgres_site(tmp_path: Path, postgres_url: str) -> Site:
    """An application on Postgres."""
    return Site(tmp_path, postgres_url)


def is_alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processes_in(folder: Path) -> list[int]:
    """The processes that have not ended and whose working directory is this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder and is_alive(int(process.name)):
                found.append(int(process.name))
    return found


def test_prefork_is_the_default(site: Site) -> None:
    """Rows 15.2, 11.15. Tasks run in children; a limit of one task each gives each its own."""
    site.send("[pid.delay() for _ in range(5)]")
    with site.worker("-c", "2", "--max-tasks-per-child", "1") as process:
        assert site.ended() == [("completed", 1)] * 5
        pids = {metadata["output"] for metadata, _ in site.results()}
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0
    assert len(pids) == 5
    assert process.process.pid not in pids
    text = process.log.read_text()
    assert "prefork, 2 at once" in text
    assert re.findall(r"INFO/(\w+)-\d+\] Task \S+ received", text) == ["ForkPoolWorker"] * 5


def test_spawned_children_run_limit_recycle_and_die_alone(postgres_site: Site) -> None:
    """Rows 15.2, 15.5. Fresh interpreters, which import the application, are children like forked ones."""
    site = postgres_site
    site.send("polite.delay()", "stubborn.delay()", "die_once.delay('a')", "[pid.delay() for _ in range(7)]")
    options = ("-c", "2", "--max-tasks-per-child", "3", "--pool-start-method", "spawn")
    with site.worker(*options) as process:
        rows = site.ended()
        site.send("hold.delay('b')")
        [child] = site.pids("b")
        site.release("b")
        site.ended()
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0
    assert not is_alive(child)
    assert rows == [("completed", 1), *[("discarded", 1)] * 2, *[("completed", 1)] * 7]
    polite, stubborn, died, *others = [metadata for metadata, _ in site.results()]
    assert polite["output"] == "cleaned up"
    kinds = [metadata["python_task_exception"]["exc_type"] for metadata in (stubborn, died)]
    assert kinds == ["TimeLimitExceeded", "WorkerLostError"]
    runs = Counter(metadata["output"] for metadata in others[:7])
    assert max(runs.values()) <= 3
    assert process.process.pid not in runs
    assert "SpawnPoolWorker-" in process.log.read_text()


def test_spawned_children_end_with_a_worker_that_is_killed(postgres_site: Site) -> None:
    """Rows 15.2, 11.2. Otherwise the task would go on beside its next run."""
    postgres_site.send("hold.delay('a')")
    with postgres_site.worker("-c", "1", "worker.pool_start_method=spawn") as process:
        [child] = postgres_site.pids("a")
        process.signal(signal.SIGKILL)
        process.exit_code()
        wait_for(lambda: not is_alive(child), "the end of the child")


def test_a_child_that_dies_costs_its_own_task(site: Site) -> None:
    """Open case O02. Row 11.4. It runs again, and others once; the worker goes on."""
    site.send("die.delay('a')", "[pid.delay() for _ in range(20)]")
    with site.worker("-c", "1"):
        wait_for(lambda: len(site.pids("a")) >= 3, "three losses")
        wait_for(lambda: site.rows()[1:] == [("completed", 1)] * 20, "the others")
        pids = site.pids("a")
        assert len(set(pids)) == len(pids)


def test_a_poison_task_ends(site: Site) -> None:
    """Open case O02. Row 5.18. At the limit of attempts it fails, and says how often it was lost."""
    site.send("die.delay('a')")
    site.change("UPDATE river_job SET max_attempts = 3")
    with site.worker("-c", "1"):
        assert site.ended() == [("discarded", 3)]
        site.send("hold.delay('ping')")
        site.release("ping")
        assert site.ended() == [("discarded", 3), ("completed", 1)]
    assert len(site.pids("a")) == 3
    (metadata, errors), _ = site.results()
    assert metadata["python_task_exception"]["exc_type"] == "WorkerLostError"
    assert "signal 9 (SIGKILL)" in errors[-1]["error"]
    assert "lost 3 times" in errors[-1]["error"]


def test_a_task_that_must_not_run_twice(site: Site) -> None:
    """Rows 2.14, 11.2. acks_late=False on purpose: the first loss is the end."""
    site.send("die_once.delay('a')")
    with site.worker("-c", "1"):
        assert site.ended() == [("discarded", 1)]
    [(metadata, errors)] = site.results()
    assert metadata["python_task_exception"]["exc_type"] == "WorkerLostError"
    assert "exit code 1" in errors[0]["error"]
    assert len(site.pids("a")) == 1


def test_a_lost_process_counts_as_a_retry(site: Site) -> None:
    """Row 2.16. With retry_on_worker_lost and max_retries=2: three runs, each a row; then it has failed."""
    site.send("die_and_retry.delay('a')")
    with site.worker("-c", "1"):
        assert site.ended() == [("completed", 1), ("completed", 1), ("discarded", 1)]
    assert len(set(site.pids("a"))) == 3
    *retried, (last, _) = site.results()
    assert [metadata["python_task_outcome"] for metadata, _ in retried] == ["retried"] * 2
    assert last["python_task_exception"]["exc_type"] == "WorkerLostError"


def test_exits_and_memory_errors_of_tasks_are_failures(site: Site) -> None:
    """Rows 6.4, 6.5. The child of the first lives on, that of the second is replaced; the next task runs."""
    site.send("pid.delay()", "leave.delay()", "pid.delay()", "starve.delay()", "pid.delay()")
    with site.worker("-c", "1"):
        assert [state for state, _ in site.ended()] == [
            "completed",
            "discarded",
            "completed",
            "discarded",
            "completed",
        ]
    before, _, between, _, after = [metadata.get("output") for metadata, _ in site.results()]
    assert before == between != after


def test_a_soft_limit_can_be_caught(site: Site) -> None:
    """Row 10.1. It ends a sleep; the task returns a value."""
    site.send("polite.delay()")
    with site.worker("-c", "1") as process:
        assert site.ended() == [("completed", 1)]
        process.wait_logged("Soft time limit (1s) exceeded for tasks.polite[")
    assert site.results()[0][0]["output"] == "cleaned up"


def test_a_hard_limit_kills_and_the_handlers_run(site: Site) -> None:
    """Row 10.2. Also a task that hears nothing; on_failure and after_return run in the worker's process."""
    site.send("stubborn.delay()", "pid.delay()")
    with site.worker("-c", "1") as process:
        assert site.ended() == [("discarded", 1), ("completed", 1)]
        assert (site.folder / "failed").read_text() == f"TimeLimitExceeded(0.5) {process.process.pid}"
        assert (site.folder / "returned").read_text() == "FAILURE TimeLimitExceeded(0.5)"
        assert process.logged("Hard time limit (0.5s) exceeded for tasks.stubborn")
    assert site.results()[0][0]["python_task_exception"]["exc_type"] == "TimeLimitExceeded"


def test_limits_of_the_command_and_of_the_call(site: Site) -> None:
    """Row 15.5. The command's limit holds where nothing else does; a soft one may be retried."""
    site.send("compute.delay('a')", "retried.apply_async(('b',), soft_time_limit=1)")
    with site.worker("-c", "2", "--time-limit", "4"):
        rows = site.ended()
    assert len(site.pids("b")) == 2
    assert Counter(state for state, _ in rows) == {"discarded": 2, "completed": 1}
    kinds = [metadata["python_task_exception"]["exc_type"] for metadata, _ in site.results()]
    assert sorted(kinds) == ["SoftTimeLimitExceeded", "SoftTimeLimitExceeded", "TimeLimitExceeded"]


def test_a_task_that_is_to_come_back_after_its_limit(site: Site) -> None:
    """Open case O15. Row 11.3. acks_on_timeout=False: it runs again, with its attempt counted.

    `acks_on_failure_or_timeout` stands for it where it says nothing.
    """
    tasks = {"a": ("slow", 2), "b": ("slow_by_both", 2), "c": ("slow_but_acknowledged", 1)}
    site.send(*(f"{task}.apply_async(({name!r},), time_limit=2)" for name, (task, _) in tasks.items()))
    site.change("UPDATE river_job SET max_attempts = 2")
    with site.worker("-c", "2"):
        assert site.ended() == [("discarded", runs) for _, runs in tasks.values()]
    assert [len(site.pids(name)) for name in tasks] == [runs for _, runs in tasks.values()]
    kinds = {metadata["python_task_exception"]["exc_type"] for metadata, _ in site.results()}
    assert kinds == {"TimeLimitExceeded"}


def test_a_task_that_fails_is_not_taken_up_again(site: Site) -> None:
    """Open case O15. Row 11.3. Whatever acks_on_failure says: Celery does not give a failed task back either.

    Only its own retries bring it back, each a row of its own.
    """
    tasks = {"a": "fails_unacknowledged", "b": "fails_by_its_own", "c": "fails_and_retries"}
    site.send(*(f"{task}.delay({name!r})" for name, task in tasks.items()))
    with site.worker("-c", "1"):
        rows = site.ended()
    assert rows == [("discarded", 1), ("discarded", 1), ("completed", 1), ("discarded", 1)]
    assert [len(site.pids(name)) for name in tasks] == [1, 1, 2]
    failed = [metadata["python_task_exception"]["exc_type"] for metadata, _ in site.results()]
    assert failed == ["ValueError"] * 4


@pytest.mark.parametrize("setting", ["task_acks_on_timeout", "task_acks_on_failure_or_timeout"])
def test_settings_bring_back_what_reached_its_limit(postgres_site: Site, setting: str) -> None:
    """Open case O15. Row 11.3. For tasks that say nothing; so does task_retry_on_worker_lost."""
    site = postgres_site
    more = f"app.conf.update(task_acks_late=True, {setting}=False, task_retry_on_worker_lost=True)\n"
    plain = "\nquiet = app.task(max_retries=1, default_retry_delay=0, name='quiet')(sleep)\n"
    dying = "\n@app.task(max_retries=1, default_retry_delay=0)\ndef dies(x):\n    note(x)\n    os._exit(1)\n"
    (site.folder / "tasks.py").write_text(TASKS + more + plain + dying)
    site.send("quiet.apply_async(('a',), time_limit=2)", "dies.delay('b')")
    site.change("UPDATE river_job SET max_attempts = 2")
    with site.worker("-c", "1"):
        rows = site.ended()
    assert rows == [("discarded", 2), ("completed", 1), ("discarded", 1)]
    assert [len(site.pids(name)) for name in "ab"] == [2, 2]


def test_children_are_replaced_and_nothing_is_lost(site: Site) -> None:
    """Open case O03. 53 tasks, one slot, five to a child: eleven children."""
    site.send("[pid.delay() for _ in range(53)]")
    with site.worker("-c", "1", "--max-tasks-per-child", "5"):
        assert site.ended() == [("completed", 1)] * 53
    counts = Counter(metadata["output"] for metadata, _ in site.results())
    assert len(counts) == 11
    assert max(counts.values()) == 5


def test_a_memory_limit_below_the_application_itself(site: Site) -> None:
    """Open case O03. The worker holds more than the limit, and no child is replaced for that."""
    site.send("[pid.delay() for _ in range(10)]")
    with site.worker("-c", "1", "--max-memory-per-child", "12000"):
        assert site.ended() == [("completed", 1)] * 10
    assert len({metadata["output"] for metadata, _ in site.results()}) == 1


@pytest.mark.parametrize("signals", [[signal.SIGQUIT], [signal.SIGINT, signal.SIGINT]])
def test_a_cold_stop_kills_children(site: Site, signals: list[signal.Signals]) -> None:
    """Rows 11.9, 15.15. The rows are available at once, with their attempts."""
    site.send("compute.delay('a')", "hold.delay('b')")
    with site.worker("-c", "2") as process:
        pids = [*site.pids("a"), *site.pids("b")]
        for number in signals:
            process.signal(number)
            process.wait_logged("stopping")
        assert process.exit_code() == 1
    assert site.rows() == [("available", 0)] * 2
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.parametrize(
    ("options", "number"),
    [
        (("-P", "prefork"), signal.SIGQUIT),
        (("-P", "threads", "--stop-timeout", "0.5"), signal.SIGTERM),
    ],
)
def test_a_stop_ends_what_must_not_run_twice(site: Site, options: tuple[str, ...], number: int) -> None:
    """Rows 2.14, 11.9. With acks_late=False what has begun fails, what has not goes back; one run each."""
    site.send("hold_once.delay('a')")
    with site.worker("-c", "1", *options) as process:
        site.pids("a")
        site.send("hold_once.delay('b')")
        process.signal(signal.Signals(number))
        assert process.exit_code() == 1
    assert site.rows() == [("discarded", 1), ("available", 0)]
    [(metadata, errors), _] = site.results()
    assert metadata["python_task_exception"]["exc_type"] == "WorkerLostError"
    assert "its worker was stopped" in errors[0]["error"]
    site.release("a")
    site.release("b")
    with site.worker("-c", "1", *options):
        assert site.ended() == [("discarded", 1), ("completed", 1)]
    assert len(site.pids("a")) == len(site.pids("b")) == 1


def test_a_forced_exit_ends_what_must_not_run_twice(postgres_site: Site) -> None:
    """Rows 2.14, 11.9. A thread that cannot be interrupted; the row is written before the process ends."""
    site = postgres_site
    site.send("block_once.delay('a')")
    with site.worker("-c", "1", "-P", "threads") as process:
        site.pids("a")
        process.signal(signal.SIGQUIT)
        assert process.exit_code() == 1
        assert process.logged("forcing the exit")
    assert site.rows() == [("discarded", 1)]
    [(metadata, _)] = site.results()
    assert metadata["python_task_exception"]["exc_type"] == "WorkerLostError"


def test_a_warm_stop_waits(site: Site) -> None:
    """Rows 11.8, 15.15. TERM to the whole group, as a supervisor sends it: children finish their tasks."""
    site.send("hold.delay('a')")
    with site.worker("-c", "2") as process:
        [child] = site.pids("a")
        os.kill(child, signal.SIGTERM)
        os.kill(child, signal.SIGINT)
        process.signal(signal.SIGTERM)
        process.wait_logged("stopping")
        site.release("a")
        assert process.exit_code() == 0
    assert site.rows() == [("completed", 1)]


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTERM])
def test_a_soft_stop_has_a_deadline(site: Site, number: signal.Signals) -> None:
    """Open case O20. QUIT, or TERM where it means that: tasks have so long to end, then their rows are free.

    The next worker starts what was cut off at once: its row waits for no lease, its attempt is not counted.
    """
    (site.folder / "tasks.py").write_text(
        TASKS + "\napp.conf.update(worker_soft_shutdown_timeout=4, task_acks_late=True)\n"
    )
    site.send("hold.delay('a')", "hold.delay('b')")
    env = {"REMAP_SIGTERM": "SIGQUIT"} if number == signal.SIGTERM else {}
    with site.worker("-c", "2", env=env) as process:
        site.pids("a"), site.pids("b")
        process.signal(number)
        process.wait_logged("are interrupted in 4 s")
        site.release("a")
        assert process.exit_code() == 1
    assert site.rows() == [("completed", 1), ("available", 0)]
    with site.worker("-c", "2"):
        wait_for(lambda: len(site.pids("b")) == 2, "the second start")
        site.release("b")
        assert site.ended() == [("completed", 1)] * 2
    assert [len(site.pids(name)) for name in "ab"] == [1, 2]


def test_a_cancellation_is_heard_while_draining(site: Site) -> None:
    """Open case O20. The mark of any client reaches a worker that stops, and a revoke ends the task there."""
    site.send("hold.delay('a')", "hold.apply_async(('b',), task_id='revoked')")
    with site.worker("-c", "2") as process:
        [_], [child] = site.pids("a"), site.pids("b")
        process.signal(signal.SIGTERM)
        process.wait_logged("stopping")
        site.send("app.runtime.client.job_cancel(1)")
        process.wait_logged("was cancelled from outside")
        site.send("app.control.revoke('revoked', terminate=True)")
        wait_for(lambda: site.rows()[1] == ("cancelled", 1), "the end of what was revoked")
        assert not is_alive(child)
        site.release("a")
        assert process.exit_code() == 0


def test_children_end_with_a_killed_worker(site: Site) -> None:
    """No child works on for a worker that is gone."""
    site.send("hold.delay('a')")
    with site.worker("-c", "2") as process:
        [child] = site.pids("a")
        assert {child, process.process.pid} < set(processes_in(site.folder))
        process.process.kill()
        process.process.wait()
        wait_for(lambda: not is_alive(child), "the end of the child")
        wait_for(lambda: not processes_in(site.folder), "the end of all others")


def test_a_suspended_worker_goes_on(postgres_site: Site) -> None:
    """A task that ends while the parent is stopped is completed once, when it runs again."""
    site = postgres_site
    site.send("hold.delay('a')")
    with site.worker("-c", "1") as process:
        site.pids("a")
        process.process.send_signal(signal.SIGSTOP)
        site.release("a")
        time.sleep(1)  # the parent is to miss something; nothing is assumed to happen within it
        process.process.send_signal(signal.SIGCONT)
        assert site.ended() == [("completed", 1)]
    assert len(site.pids("a")) == 1


def test_the_stacks_of_threads(site: Site) -> None:
    """Row 15.15. USR1 shows what each thread does."""
    with site.worker("-c", "1") as process:
        process.wait_logged("works celery")
        process.signal(signal.SIGUSR1)
        process.wait_logged("Current thread")
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0


def test_what_tasks_do_works_in_children(site: Site) -> None:
    """Rows 2.29, 4.6. Coroutines, results, states, calls and exceptions that cannot be pickled."""
    site.send("awaits.delay(7)", "sends.delay()", "fails.delay()", "progress.delay('p')")
    with site.worker("-c", "2"):
        [child] = site.pids("p")
        metadata = site.results()[3][0]
        assert str(child) in json.dumps(metadata)
        assert "HALF" in json.dumps(metadata)
        site.release("p")
        rows = site.ended()
    assert Counter(rows) == {("completed", 1): 4, ("discarded", 1): 1}
    (awaited, _), _, (_, errors), *_ = site.results()
    assert awaited["output"][0] == 7
    assert "Local('broken')" in errors[0]["error"]


@pytest.mark.parametrize("pool", ["threads", "solo"])
def test_limits_and_coroutines_in_the_other_pools(site: Site, pool: str) -> None:
    """Open case O21. Rows 10.1, 10.2, 2.29. The hard limit is recorded; a thread's slot is filled again."""
    site.send("awaits.delay(1)", "stubborn.delay()", *(["pid.delay()"] if pool == "threads" else []))
    with site.worker("-P", pool, "-c", "1") as process:
        rows = site.ended()
        assert [state for state, _ in rows][:2] == ["completed", "discarded"]
        process.process.kill()
    assert site.results()[1][0]["python_task_exception"]["exc_type"] == "TimeLimitExceeded"


@pytest.mark.parametrize("pool", ["solo", "threads", "prefork", "gevent"])
def test_each_pool_works_or_says_why_not(site: Site, pool: str) -> None:
    """Open case O21. Twenty tasks, or one clear line."""
    if pool == "gevent":
        ran = run("-A", "tasks", "worker", "-P", pool, cwd=site.folder, env=site.env)
        assert ran.code == 2
        assert "use -P threads" in ran.stderr
        return
    site.send("[pid.delay() for _ in range(20)]")
    with site.worker("-P", pool) as process:
        assert site.ended() == [("completed", 1)] * 20
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0


def test_connections_are_not_shared_with_children(postgres_site: Site) -> None:
    """Open case O17. Queries at import, by our client and by a driver; no child uses what they opened.

    Each child has its share of the tasks: none ends before all four have one.
    """
    site = postgres_site
    opened = """
import psycopg
EARLY = psycopg.connect(os.environ["RIVER_DATABASE_URL"])
EARLY.execute("SELECT 1")
app.runtime.client.job_list()


@app.task
def sends_and_asks():
    pid.delay()
    Path(f"{os.getpid()}.child").touch()
    while len(list(Path().glob("*.child"))) < 4:
        time.sleep(0.01)
    with app.runtime.driver.connect() as connection:
        from river_core.db.statement import Statement
        [[number]] = connection.fetch(Statement("pid", "SELECT pg_backend_pid()", {}))
    return [os.getpid(), number]
"""
    (site.folder / "tasks.py").write_text(TASKS + opened)
    site.send("[sends_and_asks.delay() for _ in range(200)]")
    with site.worker("-c", "4") as process:
        site.ended()
        assert process.logged("were open before child processes were made")
    pairs = {
        tuple(metadata["output"]) for metadata, _ in site.results() if isinstance(metadata["output"], list)
    }
    assert len({child for child, _ in pairs}) == 4
    assert len({backend for _, backend in pairs}) == len(pairs)


def test_autoscale(site: Site) -> None:
    """Row 15.7. Ten slow tasks run at once, and one child is there before."""
    site.send("pid.delay()")
    with site.worker("--autoscale", "6,1"):
        site.ended()
        site.send("[hold.delay('a') for _ in range(6)]")
        wait_for(lambda: len(set(site.pids("a"))) == 6, "six at once")
        site.release("a")
        assert site.ended() == [("completed", 1)] * 7
