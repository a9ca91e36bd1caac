"""Flags of start scripts that tune a broker are taken together, and change no result. Row 15.6."""

from ..observation import new_id, outcome, wait_for_notes
from ..own import project

OWN = """
from program.observation import note
from program.own import application

app = application()


@app.task
def noted(key, number):
    note(key, number)
    return number
"""
FLAGS = (
    *("-O", "fair", "--prefetch-multiplier", "1", "--disable-prefetch", "--heartbeat-interval", "9"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
)
MANY = 8


def observe():
    with project(own=OWN) as own:
        key = new_id()
        before = [own.send("own.noted", key, number) for number in range(MANY)]
        worker = own.worker("-c", "1", *FLAGS)
        values = [outcome(result) for result in before]
        return {
            "values": values,
            "each once": sorted(wait_for_notes(key, MANY)),
            "later": outcome(own.send("own.noted", new_id(), "later")),
            "exit": worker.stop(),
        }
