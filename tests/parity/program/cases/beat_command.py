"""The beat as a process of its own. Rows 14.12, 15.11."""

from ..observation import note, until, wait_for_notes
from ..own import project, working

OWN = """
from program.own import application

app = application("beat-command")
app.conf.beat_schedule = {"tick": {"task": "own.tick", "schedule": 1.0, "args": ("ticked",)}}
"""


def observe():
    with project(own=OWN) as own:

        @own.app.task(name="own.tick")
        def tick(word):
            note(own.queue, word)

        pidfile = own.directory / "beat.pid"
        options = ("-s", "schedule", "--max-interval", "1", "--pidfile", pidfile.name, "-l", "INFO")
        beat = own.celery("-A", "own", "beat", *options)
        with working(own.app):
            words = set(wait_for_notes(own.queue, 2))
            number = int(until(pidfile.read_text, bool))
            beat.wait_for("own.tick")
            seen = {"words": sorted(words), "pidfile": number == beat.pid}
            beat.stop()
            return {**seen, "after": pidfile.exists()}
