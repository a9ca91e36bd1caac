"""The states and their sets are constants that applications compare with. Row 7.2."""

from celery import states

NAMES = ("PENDING", "RECEIVED", "STARTED", "SUCCESS", "FAILURE", "REVOKED", "REJECTED", "RETRY", "IGNORED")
SETS = ("READY_STATES", "UNREADY_STATES", "EXCEPTION_STATES", "PROPAGATE_STATES", "ALL_STATES")


def observe():
    return {
        "names": {name: getattr(states, name) for name in NAMES},
        "sets": {name: sorted(getattr(states, name)) for name in SETS},
        "order": [
            states.state("PENDING") < states.state("SUCCESS"),
            states.state("MINE") > states.state("STARTED"),
            states.state("MINE") < states.state("FAILURE"),
        ],
    }
