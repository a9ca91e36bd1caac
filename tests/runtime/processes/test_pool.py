"""Jobs in child processes: what they return, what their death costs, and how children come and go."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from river_core import Client, InsertManyParams, InsertOpts
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError
from river_core.insert import EncodedArgs
from river_core.job import JobRow, JobState
from river_core.loss import Loss, ProcessDied
from river_core.outcome import Completed, FollowUp, Outcome
from river_core.task import Job, Registry, Task
from river_core.worker.config import WorkerConfig
from river_core.worker.processes.config import ProcessConfig
from river_core.worker.processes.slots import ProcessSlots
from river_core.worker.worker import Worker
from tests.runtime.workers import DEADLINE, insert, registry, row, running, wait_for


def pool(size: int = 2, **options: Any) -> dict[str, Any]:
    """Options of a worker with child processes."""
    return {
        "queues": {"default": size},
        "max_workers": size,
        "claim_ahead": True,
        "fetch_cooldown": 0.001,
        "processes": ProcessConfig(**options),
    }


def slots_of(worker: Worker) -> ProcessSlots:
    """The worker's only slots."""
    assert worker._parts is not None
    [slots] = worker._parts.slots
    assert isinstance(slots, ProcessSlots)
    return slots


def say_pid(job: Job) -> None:
    """Store the process id."""
    job.record_output(os.getpid())


def die(job: Job) -> None:
    """End this process in the way that the job names."""
    if "exit" in job.args:
        os._exit(job.args["exit"])
    os.kill(os.getpid(), job.args.get("signal", signal.SIGKILL))


def mark_and_wait(job: Job) -> None:
    """Leave a file with the process id, then wait until another file is there."""
    directory = Path(job.args["directory"])
    (directory / f"{job.row.id}-{job.row.attempt}").write_text(str(os.getpid()))
    while not (directory / "go").exists():
        time.sleep(0.005)


def begun(directory: Path, job: JobRow, attempt: int = 1) -> int:
    """Wait until an attempt has begun and return its process id."""
    path = directory / f"{job.id}-{attempt}"
    return int(wait_for(lambda: path.exists() and path.read_text(), f"attempt {attempt} of job {job.id}"))


def ended(driver: Driver, job: JobRow) -> JobRow:
    """Wait for the end of a job."""
    return wait_for(
        lambda: (found := row(driver, job.id)).finalized_at is not None and found, f"the end of job {job.id}"
    )


def waiting(tmp_path: Path) -> str:
    """Arguments of `mark_and_wait`."""
    return f'{{"directory": "{tmp_path}"}}'


def test_jobs_run_in_children(driver: Driver) -> None:
    """Many jobs all complete, in as many processes as there are slots, none of them this one."""
    client = Client(driver)
    jobs = client.insert_many([InsertManyParams(EncodedArgs("pid", "{}")) for _ in range(300)])
    with running(driver, registry(pid=say_pid), **pool(2)) as worker:
        ends = [ended(driver, result.job) for result in jobs]
        assert set(slots_of(worker).pids) >= {end.metadata["output"] for end in ends}
    assert {end.state for end in ends} == {JobState.COMPLETED}
    assert os.getpid() not in {end.metadata["output"] for end in ends}
    assert {end.attempt for end in ends} == {1}


@pytest.mark.parametrize(
    ("args", "how"),
    [("{}", "signal 9 (SIGKILL)"), ('{"exit": 3}', "exit code 3"), ('{"signal": 24}', "signal 24 (SIGXCPU)")],
)
def test_a_dead_child_costs_its_own_job(driver: Driver, args: str, how: str) -> None:
    """Jobs that the child was given with the deadly one all complete in their first attempt."""
    batch = [EncodedArgs("pid", "{}")] * 60
    batch[30:30] = [EncodedArgs("die", args)]
    client = Client(driver)
    jobs = [
        result.job
        for result in client.insert_many(
            [
                InsertManyParams(item, InsertOpts(max_attempts=2 if item.kind == "die" else 25))
                for item in batch
            ]
        )
    ]
    with running(driver, registry(pid=say_pid, die=die), **pool(1)):
        ends = [ended(driver, job) for job in jobs]
    deadly = ends.pop(30)
    assert Counter((end.state, end.attempt) for end in ends) == {(JobState.COMPLETED, 1): 60}
    assert deadly.state is JobState.DISCARDED
    assert [error.error for error in deadly.errors] == [f"the process that ran the job ended: {how}"] * 2


class Judge(Task):
    """Says itself what the loss of its process means."""

    kind = "judge"

    def work(self, job: Job) -> None:
        os._exit(7)

    def lost(self, job: Job, loss: Loss) -> Outcome:
        assert isinstance(loss, ProcessDied)
        return Completed({"why": loss.description}, (FollowUp(pid_params()),))


def pid_params() -> Any:
    """The row of one more job."""
    from river_core import InsertParams

    return InsertParams("pid", "{}")


def test_the_task_says_what_a_loss_means(driver: Driver) -> None:
    """The outcome of `lost` is written with all that belongs to it."""
    with running(driver, registry(pid=say_pid).add(Judge()), **pool(1)):
        end = ended(driver, insert(driver, "judge"))
        assert (end.state, end.metadata["why"]) == (JobState.COMPLETED, "exit code 7")
        wait_for(
            lambda: [job for job in Client(driver).job_list().jobs if job.kind == "pid" and job.finalized_at],
            "the follow-up",
        )


def test_a_child_is_replaced_after_so_many_jobs(driver: Driver) -> None:
    """Open case O03. 53 jobs with one slot and five jobs to a child: eleven processes."""
    client = Client(driver)
    jobs = client.insert_many([InsertManyParams(EncodedArgs("pid", "{}")) for _ in range(53)])
    with running(driver, registry(pid=say_pid), **pool(1, max_jobs_per_child=5)):
        pids = Counter(ended(driver, result.job).metadata["output"] for result in jobs)
    assert sorted(pids.values()) == [3] + [5] * 10


def grow(job: Job) -> None:
    """Keep some memory for ever."""
    _KEPT.append(bytearray(job.args["kib"] * 1024))
    job.record_output(os.getpid())


_KEPT: list[bytearray] = []


def test_a_child_is_replaced_when_it_has_grown(driver: Driver) -> None:
    """A child over the limit that grew is replaced after the job; the next begins small again."""
    options = pool(1, max_memory_per_child=150 * 1024)
    with running(driver, registry(grow=grow), **options):
        pids = [ended(driver, insert(driver, "grow", '{"kib": 200000}')).metadata["output"] for _ in range(3)]
    assert len(set(pids)) == 3


def test_a_worker_that_is_over_the_limit_itself_keeps_its_children(driver: Driver) -> None:
    """Open case O03. A limit below what every child begins with does not replace each after each job."""
    with running(driver, registry(pid=say_pid), **pool(1, max_memory_per_child=10_000)):
        pids = {ended(driver, insert(driver, "pid")).metadata["output"] for _ in range(5)}
    assert len(pids) == 1


def test_termination_hits_one_attempt_only(driver: Driver, tmp_path: Path) -> None:
    """Open case O10. A wrong attempt, an ended job and a stranger are left alone; the right one is ended."""
    tasks = registry(wait=mark_and_wait, pid=say_pid)
    with running(driver, tasks, **pool(1)) as worker:
        done = ended(driver, insert(driver, "pid"))
        job = insert(driver, "wait", waiting(tmp_path))
        pid = begun(tmp_path, job)
        behind = insert(driver, "pid")
        assert not worker.terminate_job(job.id, 2)
        assert not worker.terminate_job(done.id, 1)
        assert not worker.terminate_job(behind.id + 100, 1)
        os.kill(pid, signal.SIGTERM)  # as a supervisor sends it to every process of its service
        assert worker.terminate_job(job.id, 1)
        end = ended(driver, job)
        assert ended(driver, behind).state is JobState.COMPLETED
    assert end.state is JobState.CANCELLED
    assert end.errors[0].error == "JobCancelError: terminated by SIGTERM"


def test_termination_beside_the_end_of_a_job(driver: Driver) -> None:
    """Open case O10. However a termination falls around the end of a job, the next one is never hit."""
    tasks = registry(short=lambda job: time.sleep(0.01), pid=say_pid)
    with running(driver, tasks, **pool(1)) as worker:
        for step in range(30):
            first, second = insert(driver, "short"), insert(driver, "pid")
            wait_for(lambda job=first: row(driver, job.id).attempt == 1, "the start")
            time.sleep(step * 0.001)
            worker.terminate_job(first.id, 1, signal.SIGKILL)
            assert ended(driver, second).state is JobState.COMPLETED
            assert ended(driver, first).state in (JobState.COMPLETED, JobState.CANCELLED)
            assert row(driver, second.id).attempt == 1


def test_what_a_hanging_child_has_not_started_is_ended_without_it(driver: Driver) -> None:
    """The child need not agree: it finds out when it goes on, and then runs the next job."""
    with running(driver, registry(pid=say_pid), **pool(1)) as worker:
        pid = ended(driver, insert(driver, "pid")).metadata["output"]
        os.kill(pid, signal.SIGSTOP)
        job = insert(driver, "pid")
        wait_for(lambda: worker.terminate_job(job.id, 1), "the claim")
        assert ended(driver, job).state is JobState.CANCELLED
        os.kill(pid, signal.SIGCONT)
        assert ended(driver, insert(driver, "pid")).metadata["output"] == pid


class Bounded(Task):
    """Bounds itself, and says what it heard."""

    kind = "bounded"

    def work(self, job: Job) -> None:
        try:
            job.limit_time(job.args.get("soft"), job.args.get("hard"), TimeoutError)
            time.sleep(job.args["sleep"])
        except TimeoutError:
            job.record_output("heard")
            time.sleep(job.args.get("then", 0))


def test_a_soft_limit_is_raised_in_the_task(driver: Driver) -> None:
    """It ends even a sleep, and the task may finish after it."""
    with running(driver, Registry().add(Bounded()), **pool(1)):
        end = ended(driver, insert(driver, "bounded", '{"soft": 0.1, "sleep": 20}'))
    assert (end.state, end.metadata["output"]) == (JobState.COMPLETED, "heard")


def test_a_hard_limit_kills_the_child(driver: Driver) -> None:
    """Also where the soft one was heard; the next job has a new child."""
    with running(driver, Registry().add(Bounded()).add("pid", say_pid), **pool(1)):
        job = insert(
            driver,
            "bounded",
            '{"soft": 0.1, "hard": 0.3, "sleep": 20, "then": 20}',
            insert_opts=InsertOpts(max_attempts=1),
        )
        end = ended(driver, job)
        assert ended(driver, insert(driver, "pid")).state is JobState.COMPLETED
    assert (end.state, end.errors[0].error) == (JobState.DISCARDED, "job timed out after 0.3s")


def test_limits_of_a_job_do_not_reach_the_next(driver: Driver) -> None:
    """A job that ends before its limits leaves none behind."""
    with running(driver, Registry().add(Bounded()), **pool(1)):
        first = insert(driver, "bounded", '{"soft": 0.2, "hard": 0.3, "sleep": 0}')
        second = insert(driver, "bounded", '{"sleep": 0.6}')
        assert ended(driver, first).state is ended(driver, second).state is JobState.COMPLETED
    assert row(driver, second.id).metadata.get("output") is None


def test_rivers_timeout_is_raised_in_the_child(driver: Driver) -> None:
    """A job_timeout ends a sleep in a child as it ends Python code in a thread."""
    tasks = registry(sleep=lambda job: time.sleep(20))
    with running(driver, tasks, **pool(1), job_timeout=0.2):
        end = ended(driver, insert(driver, "sleep", insert_opts=InsertOpts(max_attempts=1)))
    assert end.errors[0].error == "job timed out after 0.2s"


def hear_stop(job: Job) -> None:
    """Wait for the sign to stop."""
    assert job.wait_stopped(20)


def test_a_cancellation_reaches_the_child(driver: Driver) -> None:
    """The task sees it, and the row ends as cancelled."""
    with running(driver, registry(hear=lambda job: hear_stop(job) or job.row.missing), **pool(1)):
        job = insert(driver, "hear")
        wait_for(lambda: row(driver, job.id).state is JobState.RUNNING, "the start")
        Client(driver).job_cancel(job.id)
        assert ended(driver, job).state is JobState.CANCELLED


@pytest.mark.parametrize("kill", [True, False])
def test_a_cold_stop_gives_rows_back(driver: Driver, tmp_path: Path, kill: bool) -> None:
    """What runs is interrupted or killed, and available at once with its attempt; so is what waits."""
    with running(driver, registry(wait=mark_and_wait), **pool(1, kill_at_stop=kill)) as worker:
        jobs = [insert(driver, "wait", waiting(tmp_path)) for _ in range(2)]
        pid = begun(tmp_path, jobs[0])
        assert not worker.stop_and_cancel()
    assert [(row(driver, job.id).state, row(driver, job.id).attempt) for job in jobs] == [
        (JobState.AVAILABLE, 0)
    ] * 2
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the end of the child")


def test_a_warm_stop_lets_jobs_finish(driver: Driver, tmp_path: Path) -> None:
    """And then no child is left."""
    with running(driver, registry(wait=mark_and_wait), **pool(1)) as worker:
        job = insert(driver, "wait", waiting(tmp_path))
        pid = begun(tmp_path, job)
        worker.request_stop()
        (tmp_path / "go").touch()
        assert worker.stop()
    assert row(driver, job.id).state is JobState.COMPLETED
    assert not Path(f"/proc/{pid}").exists()


def test_a_lost_lock_kills_children(driver: Driver, tmp_path: Path) -> None:
    """Others may have taken the rows over, so nothing may go on here; the worker goes on."""
    with running(driver, registry(wait=mark_and_wait, pid=say_pid), **pool(1)) as worker:
        job = insert(driver, "wait", waiting(tmp_path))
        pid = begun(tmp_path, job)
        assert worker._parts is not None
        worker._parts.abandon_all()
        assert begun(tmp_path, job, 1) is not None
        wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the end of the child")
        (tmp_path / "go").touch()
        assert ended(driver, job).state is JobState.COMPLETED


def test_a_slow_job_does_not_hold_short_ones_behind_it(driver: Driver, tmp_path: Path) -> None:
    """What a child was given behind a slow job runs in another child."""
    client = Client(driver)
    client.insert_many([InsertManyParams(EncodedArgs("pid", "{}")) for _ in range(200)])
    tasks = registry(wait=mark_and_wait, pid=say_pid)
    with running(driver, tasks, **pool(2)):
        slow = insert(driver, "wait", waiting(tmp_path))
        behind = client.insert_many([InsertManyParams(EncodedArgs("pid", "{}")) for _ in range(200)])
        begun(tmp_path, slow)
        for result in behind:
            assert ended(driver, result.job).state is JobState.COMPLETED
        assert row(driver, slow.id).state is JobState.RUNNING
        (tmp_path / "go").touch()
        assert ended(driver, slow).state is JobState.COMPLETED


class UnpicklableError(Exception):
    """Cannot be pickled, so it must be text by the time it leaves its process."""

    def __reduce__(self) -> Any:
        raise TypeError("not me")


def fail(job: Job) -> None:
    """Raise it."""
    raise UnpicklableError("it broke")


def test_an_exception_that_cannot_be_pickled_survives_as_text(driver: Driver) -> None:
    """Its text and its traceback are stored."""
    with running(driver, registry(fail=fail), **pool(1)):
        end = ended(driver, insert(driver, "fail", insert_opts=InsertOpts(max_attempts=1)))
    assert end.errors[0].error == "it broke"
    assert "raise UnpicklableError" in end.errors[0].trace


def test_a_callback_after_the_write_runs_in_the_child(driver: Driver, tmp_path: Path) -> None:
    """It sees the state that was written, and what the row holds by then."""

    def listen(job: Job) -> None:
        def note(state: JobState | None) -> None:
            seen = job.client.job_get(job.row.id).state  # type: ignore[union-attr]
            (tmp_path / "heard").write_text(f"{state} {seen} {os.getpid()}")

        job.after_write(note)
        job.record_output(os.getpid())

    with running(driver, registry(listen=listen), **pool(1)):
        end = ended(driver, insert(driver, "listen"))
        heard = wait_for(
            lambda: (tmp_path / "heard").exists() and (tmp_path / "heard").read_text(), "the callback"
        )
    assert heard == f"completed completed {end.metadata['output']}"


def insert_another(job: Job) -> None:
    """Insert a job by the child's own connection."""
    assert job.client is not None
    job.record_output(job.client.insert(EncodedArgs("pid", "{}")).job.id)


def test_a_child_inserts_by_its_own_connection(driver: Driver) -> None:
    """`job.client` works in a child; the row is worked like any other."""
    with running(driver, registry(another=insert_another, pid=say_pid), **pool(2)):
        for _ in range(5):
            inserted = ended(driver, insert(driver, "another")).metadata["output"]
            assert ended(driver, row(driver, inserted)).state is JobState.COMPLETED


async def coroutine(job: Job) -> None:
    """Await a little."""
    import asyncio

    await asyncio.sleep(0.01)
    job.record_output(os.getpid())


def test_a_coroutine_runs_on_a_loop_of_the_child(driver: Driver) -> None:
    """Its process is not this one."""
    with running(driver, registry(coroutine=coroutine), **pool(1)) as worker:
        end = ended(driver, insert(driver, "coroutine"))
        assert [end.metadata["output"]] == slots_of(worker).pids


def test_children_come_and_go_with_the_work(driver: Driver, tmp_path: Path) -> None:
    """With a lower size children are forked when there is something to do, and end when there is not."""
    options = pool(4, min_size=1, keepalive=0.05)
    with running(driver, registry(wait=mark_and_wait), **options) as worker:
        slots = slots_of(worker)
        wait_for(lambda: len(slots.pids) == 1, "the first child")
        jobs = [insert(driver, "wait", waiting(tmp_path)) for _ in range(4)]
        assert len({begun(tmp_path, job) for job in jobs}) == 4
        (tmp_path / "go").touch()
        for job in jobs:
            ended(driver, job)
        wait_for(lambda: len(slots.pids) == 1, "the end of the rest")


def test_the_pool_grows_and_shrinks(driver: Driver, tmp_path: Path) -> None:
    """As many jobs run as the pool is told."""
    with running(driver, registry(wait=mark_and_wait), **pool(1)) as worker:
        slots = slots_of(worker)
        slots.resize(3)
        jobs = [insert(driver, "wait", waiting(tmp_path)) for _ in range(3)]
        assert len({begun(tmp_path, job) for job in jobs}) == 3
        slots.resize(1)
        (tmp_path / "go").touch()
        for job in jobs:
            ended(driver, job)
        wait_for(lambda: len(slots.pids) == 1, "the end of the rest")


def test_an_idle_child_that_is_killed_costs_nothing(driver: Driver) -> None:
    """The next job has another one."""
    with running(driver, registry(pid=say_pid), **pool(1)) as worker:
        first = ended(driver, insert(driver, "pid")).metadata["output"]
        os.kill(first, signal.SIGKILL)
        end = ended(driver, insert(driver, "pid"))
        assert (end.attempt, end.state) == (1, JobState.COMPLETED)
        assert end.metadata["output"] != first
        assert slots_of(worker).active == 0


def test_hooks_run_in_children(driver: Driver, tmp_path: Path) -> None:
    """Each child calls the first before its jobs and the last after them."""

    def note(what: str) -> Any:
        return lambda number: (tmp_path / f"{what}-{os.getpid()}").write_text(str(number))

    options = pool(2, child_started=note("started"), child_stopping=note("stopping"))
    with running(driver, registry(pid=say_pid), **options) as worker:
        wait_for(lambda: len(list(tmp_path.glob("started-*"))) == 2, "the starts")
        # a child may be there a moment before the worker knows its process id
        wait_for(lambda: len(slots_of(worker).pids) == 2, "their process ids")
        pids = {str(pid) for pid in slots_of(worker).pids}
        assert worker.stop()
    for what in ("started", "stopping"):
        assert {path.name.partition("-")[2] for path in tmp_path.glob(f"{what}-*")} == pids


def test_the_end_of_the_fork_stage_is_noticed(driver: Driver) -> None:
    """The worker cannot go on without it, and says so."""
    with running(driver, registry(pid=say_pid), **pool(1)) as worker:
        assert worker._stage is not None
        assert worker.dead_parts(quiet=False) == []
        os.kill(worker._stage.pid, signal.SIGKILL)
        assert wait_for(lambda: worker.dead_parts(quiet=False), "the end") == ["river-fork-stage"]


_TOLD: list[Any] = []


def say_told(job: Job) -> None:
    """Store what this process was told."""
    job.record_output(list(_TOLD))


def test_children_are_told(driver: Driver) -> None:
    """Those that are there, and those that come after; the last word under a key counts for the latter."""
    options = pool(1, child_told=_TOLD.append, max_jobs_per_child=1)
    with running(driver, registry(told=say_told), **options) as worker:
        wait_for(lambda: worker.pids, "the first child")
        worker.tell_children("limit", 1)
        worker.tell_children("limit", 2)
        first = ended(driver, insert(driver, "told")).metadata["output"]
        second = ended(driver, insert(driver, "told")).metadata["output"]
    assert first[-1] == 2
    assert second == [2]


class HeldTold(dict[str, Any]):
    """What children are told, of which one answer is kept back until something else has been told."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.release = threading.Event(), threading.Event()

    def _hold(self) -> None:
        if not self.asked.is_set() and threading.current_thread() is not threading.main_thread():
            self.asked.set()
            self.release.wait(0.2)  # who tells the other thing may have to wait for this answer

    def __getitem__(self, key: str) -> Any:
        told = super().__getitem__(key)
        self._hold()
        return told

    def values(self) -> Any:
        told = list(super().values())
        self._hold()
        return told


def test_a_child_that_starts_is_told_nothing_older_last(driver: Driver) -> None:
    """The newest word comes while the child is being told what was said before it was there."""
    options = pool(1, child_told=_TOLD.append, max_jobs_per_child=1)
    with running(driver, registry(told=say_told), **options) as worker:
        wait_for(lambda: worker.pids, "the first child")
        slots_of(worker).told = told = HeldTold()
        told["limit"] = 1
        ended(driver, insert(driver, "told"))  # the next child is told what there is
        assert told.asked.wait(DEADLINE)
        teller = threading.Thread(target=worker.tell_children, args=("limit", 2))
        teller.start()
        wait_for(lambda: told.get("limit") == 2, "the newer word")
        teller.join(0.1)  # it may have to wait
        told.release.set()
        teller.join(DEADLINE)
        assert ended(driver, insert(driver, "told")).metadata["output"][-1] == 2


def test_wrong_options_are_refused() -> None:
    """By name, before anything starts."""
    with pytest.raises(ConfigurationError, match="max_jobs_per_child"):
        ProcessConfig(max_jobs_per_child=0)
    with pytest.raises(ConfigurationError, match="max_memory_per_child"):
        ProcessConfig(max_memory_per_child=-1)
    with pytest.raises(ConfigurationError, match="not in both"):
        WorkerConfig(queues={"default": 1}, main_thread=True, processes=ProcessConfig())
