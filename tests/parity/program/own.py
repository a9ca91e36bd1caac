"""Applications and processes of a case alone: on a second broker, in a directory of its own.

A case gives the sources of modules; they make their application by `application()`. The processes run
`python -m celery ...` there. Each project has a queue of its own, and leaves nothing running.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

from celery import Celery, signals, states
from celery.contrib.testing.worker import start_worker

from .observation import new_id, note, notes, until

HERE = Path(__file__).parent
PACKAGE = states.__name__.removesuffix(".states")
QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")
START = STOP = 60


def application(name="own", **settings):
    """Make an application on the second broker; the default queue is the project's."""
    settings.setdefault("broker", os.environ["PARITY_OWN_BROKER"])
    settings.setdefault("backend", os.environ.get("PARITY_OWN_BACKEND"))
    settings.setdefault("task_default_queue", os.environ.get("PARITY_OWN_QUEUE", "celery"))
    return Celery(name, **settings)


@signals.worker_ready.connect
def _tell(**kwargs):
    if "PARITY_OWN_READY" in os.environ:
        note(os.environ["PARITY_OWN_READY"], os.getpid())


@contextmanager
def project(**sources):
    """Write modules by name into a directory; give the project, and end its processes afterwards."""
    with tempfile.TemporaryDirectory(prefix="river-parity-own-") as directory:
        made = Project(Path(directory))
        for name, source in sources.items():
            made.write(f"{name}.py", source)
        try:
            yield made
        finally:
            made.end()


class Project:
    """A directory, its queue, and the processes that were started in it."""

    def __init__(self, directory):
        self.directory = directory
        self.queue = new_id()
        self.processes = []
        self.app = application(task_default_queue=self.queue, set_as_current=False)

    def write(self, path, text):
        """Write a file below the directory."""
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def alias(self):
        """Let packages that import Celery themselves find, in these processes, the one that is tried."""
        if PACKAGE != "celery":
            text = "import river_compat\n\nriver_compat.install_as('celery')\n"
            self.write("sitecustomize.py", text)

    def send(self, name, *args, **options):
        """Send a task by its name to the project's queue."""
        return self.app.send_task(name, args, **{"queue": self.queue, **options})

    def start(self, *arguments, env=None, ready=""):
        """Start `python` with these arguments."""
        process = Process(self, arguments, env, ready)
        self.processes.append(process)
        return process

    def celery(self, *arguments, env=None):
        """Start the command of Celery, or ours, with its own command line."""
        return self.start("-m", PACKAGE, *arguments, env=env)

    def worker(self, *options, module="own", env=None):
        """Start a worker of the module's application; return when it takes tasks."""
        ready = new_id()
        words = ("-m", PACKAGE, "-A", module, "worker", *QUIET, *options)
        process = self.start(*words, env=env, ready=ready)
        until(lambda: notes(ready) or process.ended(), bool, START)
        assert notes(ready), process.text()
        return process

    def run(self, *arguments, env=None):
        """Run the command of Celery, or ours, to its end."""
        process = self.celery(*arguments, env=env)
        process.wait()
        return process

    def end(self):
        """Kill what still runs, children too."""
        for process in self.processes:
            process.kill()
        self.app.close()


class Process:
    """A started process, leader of its group; what it prints goes to a file."""

    def __init__(self, owner, arguments, env, ready):
        self.log = owner.directory / f"{len(owner.processes)}.log"
        variables = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (owner.directory, HERE.parent))),
            "PARITY_OWN_QUEUE": owner.queue,
            "PARITY_OWN_READY": ready,
            **(env or {}),
        }
        with self.log.open("w") as output:
            self._process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=owner.directory,
                env={name: value for name, value in variables.items() if value},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.pid = self._process.pid

    def text(self):
        """What it has printed so far."""
        return self.log.read_text("utf-8", errors="replace")

    def seen(self):
        """Wait for a good end, and return the JSON that it has printed behind SEEN."""
        assert self.wait() == 0, self.text()
        return json.loads(self.text().split("SEEN ")[1].splitlines()[0])

    def wait_for(self, text):
        """Wait until it has printed a text."""
        until(lambda: text in self.text() or self.ended(), bool)
        assert text in self.text(), self.text()

    def ended(self):
        """Whether it has ended."""
        return self._process.poll() is not None

    def send_signal(self, number):
        """Send it a signal; its children get none."""
        self._process.send_signal(number)

    def wait(self):
        """Wait for the end and return the exit code."""
        return self._process.wait(STOP)

    def stop(self, number=signal.SIGTERM):
        """Send a signal, wait for the end and return the exit code."""
        self.send_signal(number)
        return self.wait()

    def kill(self):
        """Kill the whole group, whoever of it is left."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def working(app, **options):
    """Run a worker of an application in a thread of this process; other cases keep their application."""
    from .app import app as shared

    try:
        with start_worker(app, perform_ping_check=False, **options) as worker:
            yield worker
    finally:
        shared.set_current()
        shared.set_default()
        app.close()
