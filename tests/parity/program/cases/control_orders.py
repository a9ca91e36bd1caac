"""What a running worker is told, and what it answers: children, queues, its end. Row 12.6."""

from ..observation import new_id, outcome
from ..own import project

OWN = """
from program.own import application

app = application()


@app.task
def answer(x):
    return x
"""


def observe():
    with project(own=OWN) as own:
        name, other = f"{new_id()}@here", new_id()
        worker = own.worker("-c", "1", "-n", name)
        control = own.app.control
        ask = {"reply": True, "timeout": 5, "limit": 1}

        def told(answers):
            return [
                {key.replace(name, "WORKER"): shown(value) for key, value in each.items()} for each in answers
            ]

        def shown(value):
            return {key: str(text).replace(other, "QUEUE") for key, text in value.items()}

        seen = {
            "ping": told(control.ping(destination=[name], timeout=5)),
            "broadcast": told(control.broadcast("ping", destination=[name], **ask)),
            "grow": told(control.pool_grow(1, [name], **ask)),
            "shrink": told(control.pool_shrink(1, [name], **ask)),
            "add": told(control.add_consumer(other, destination=[name], **ask)),
            "ran": outcome(own.send("own.answer", 1, queue=other)),
            "cancel": told(control.cancel_consumer(other, destination=[name], **ask)),
            "limits": told(control.time_limit("own.answer", 9, 8, destination=[name], **ask)),
            "rate": told(control.rate_limit("own.answer", "100/s", destination=[name], **ask)),
            "nobody": control.ping(destination=["nobody@here"], timeout=0.3),
        }
        control.shutdown(destination=["nobody@here"])
        seen["goes on"] = outcome(own.send("own.answer", 2))
        control.shutdown(destination=[name])
        seen["exit"] = worker.wait()
        waiting = [own.send("own.answer", number) for number in range(3)]
        seen["purged"] = [control.purge(), [each.state for each in waiting], control.purge()]
        return seen
