"""The log file, its level, and the file of the process number, by the worker's name. Row 15.4."""

from ..observation import outcome, until
from ..own import project

OWN = """
from celery.utils.log import get_task_logger
from program.own import application

app = application()
logger = get_task_logger(__name__)


@app.task
def tells(how):
    logger.info("told at info %s", how)
    logger.warning("told at warning %s", how)
    return how
"""
DEAD = 2**22 - 3


def observe():
    with project(own=OWN) as own:
        own.write("w1.pid", f"{DEAD}\n")
        files = ("-f", "log-%n.txt", "--pidfile", "%n.pid")
        worker = own.worker("-n", "w1@here", "-l", "WARNING", "-c", "1", *files)
        pid, log = own.directory / "w1.pid", own.directory / "log-w1.txt"
        running = int(pid.read_text()) == worker.pid
        end = outcome(own.send("own.tells", "once"))
        text = until(lambda: log.read_text(), lambda found: "told at warning once" in found)
        shown = [word in text for word in ("told at info", "received", "succeeded", "own.tells")]
        elsewhere = "told at warning" in worker.text()
        return {
            "pidfile": running,
            "end": end,
            "shown": shown,
            "elsewhere": elsewhere,
            "exit": worker.stop(),
            "pidfile after": pid.exists(),
        }
