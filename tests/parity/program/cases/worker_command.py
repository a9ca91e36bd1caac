"""A worker by its command: flags of start scripts, two queues, processes as needed, its end.

Rows 11.6, 15.7. Short tasks do not wait behind a long one.
"""

from ..observation import new_id, note, outcome, wait_for_notes
from ..own import project

OWN = """
from program.observation import note, notes, until
from program.own import application

app = application()


@app.task
def meet(key, others):
    note(key, others)
    until(lambda: notes(key), lambda seen: len(seen) >= others)
    return "met"


@app.task
def add(x, y):
    return x + y
"""
FLAGS = ("-O", "fair", "--prefetch-multiplier", "1", "--heartbeat-interval", "9", "--disable-prefetch")


def observe():
    with project(own=OWN) as own:
        queues = f"{own.queue},{own.queue}-2"
        worker = own.worker("-l", "INFO", "--autoscale", "3,1", "-Q", queues, *FLAGS)
        key, hold = new_id(), new_id()
        long = own.send("own.meet", hold, 2)
        wait_for_notes(hold)
        two = [own.send("own.meet", key, 2, queue=queue) for queue in queues.split(",")]
        seen = {"two": [outcome(each) for each in two]}
        seen["short"] = [outcome(own.send("own.add", number, 1)) for number in range(6)]
        seen["long"] = long.state
        note(hold, True)
        seen["at last"] = outcome(long)
        seen["shown"] = [text in worker.text() for text in ("own.add", own.queue, "ready")]
        return {**seen, "exit": worker.stop()}
