"""A task made with the application's decorator, bare and with options, also behaves as its function.

Row 1.4.
"""

from ..app import app
from ..observation import outcome


@app.task
def double(x):
    """Twice x."""
    return 2 * x


@app.task(name="parity.renamed", bind=True)
def renamed(self, x):
    return [self.name, x]


def observe():
    return {
        "bare": outcome(double.delay(4)),
        "called": double(5),
        "run": double.run(6),
        "bound": outcome(renamed.delay(1)),
        "doc": double.__doc__,
        "name": double.__name__,
    }
