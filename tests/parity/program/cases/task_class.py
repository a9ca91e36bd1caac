"""A task written as a class is registered by instance and runs by its own name. Row 1.5."""

from celery import Task

from ..app import app
from ..observation import outcome


class Greeter(Task):
    name = "parity.greeter"
    greeting = "hello"

    def run(self, who):
        return f"{self.greeting} {who}"


greeter = app.register_task(Greeter())


def observe():
    return {
        "delay": outcome(greeter.delay("there")),
        "by_name": outcome(app.send_task("parity.greeter", ["you"])),
        "called": greeter("me"),
    }
