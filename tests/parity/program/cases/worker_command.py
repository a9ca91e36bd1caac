"""A worker by its command: it starts, runs a task, and ends at TERM with 0. Rows 15.1, 15.6."""

from ..own import project

OWN = """
from program.own import application

app = application()


@app.task
def add(x, y):
    return x + y
"""


def observe():
    with project(own=OWN) as own:
        worker = own.worker(
            "-l", "INFO", "-c", "1", "-O", "fair", "--prefetch-multiplier", "1", "--heartbeat-interval", "9"
        )
        value = own.send("own.add", 2, 3).get(timeout=20)
        shown = [text in worker.text() for text in ("own.add", own.queue, "ready")]
        return {"value": value, "shown": shown, "exit": worker.stop()}
