"""Commands beside the worker, from a shell and from inside a program. Rows 15.11, 15.12."""

import contextlib
import io
import json

from ..observation import new_id, outcome, raised
from ..own import application, project, working


def shell(app, *arguments):
    """Run a command in this process; return its exit code, and what it printed."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = app.start(list(arguments))
    except SystemExit as ended:
        code = ended.code
    except Exception as error:  # noqa: BLE001 - its name is what is observed
        code = type(error).__name__
    return code or 0, output.getvalue()


def observe():
    name, queue = f"{new_id()}@here", new_id()
    app = application(task_default_queue=queue, set_as_current=False)

    @app.task(name="commands.add")
    def add(x, y=10):
        return x + y

    seen = {"no worker": raised(app.worker_main, ["-l", "INFO"])["error"]}
    with working(app, hostname=name):
        code, text = shell(app, "call", "commands.add", "-a", "[1]", "-k", json.dumps({"y": 2}))
        task_id = text.split()[0]
        seen["call"] = [code, outcome(app.AsyncResult(task_id))]
        code, text = shell(app, "result", task_id)
        seen["result"] = [code, text.split()]
        code, text = shell(app, "inspect", "-d", name, "-t", "5", "ping")
        seen["ping"] = [code, name in text, "pong" in text]
        code, text = shell(app, "status", "-d", name, "-t", "5")
        seen["status"] = [code, name in text, "OK" in text]
        code, text = shell(app, "inspect", "-d", name, "-t", "5", "registered")
        seen["registered"] = [code, "commands.add" in text]
        code, text = shell(app, "control", "-d", name, "-t", "5", "rate_limit", "commands.add", "7/s")
        seen["control"] = [code, "new rate limit set successfully" in text]
    waiting = [add.delay(number) for number in range(3)]
    code, text = shell(app, "purge", "-f")
    seen["purge"] = [code, "3" in text]
    with working(app):
        seen["after"] = [outcome(add.delay(1)), [each.state for each in waiting]]
    code, text = shell(app, "report")
    seen["report"] = [code, "task_default_queue" in text and queue in text]
    with project() as own:
        probe = ("inspect", "ping", "-d", "nobody@x", "-t", "0.5")
        seen["nobody"] = own.celery("-A", "program.app", *probe).wait()
    return seen
