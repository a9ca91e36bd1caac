"""What cases use to observe: results in words, and notes that tasks leave for the observing process."""

import json
import os
import time
import uuid
from pathlib import Path

WAIT = 60
LOOK = 0.02


def shown(value):
    """Return a value or an exception in words, exactly enough to tell 1 from 1.0 and True."""
    if isinstance(value, BaseException):
        return {"error": type(value).__name__, "text": str(value), "args": [repr(arg) for arg in value.args]}
    return repr(value)


def outcome(result):
    """Wait for the end of a task and return its state and value."""
    value = result.get(timeout=WAIT, propagate=False)
    return {"state": result.state, "value": shown(value)}


def raised(call, *args, **kwargs):
    """Return the exception that a call raises, in words, or what it returned."""
    try:
        return {"returned": shown(call(*args, **kwargs))}
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what was observed
        return shown(error)


def new_id():
    """Return a task id that no other case and no other run uses."""
    return f"parity-{uuid.uuid4()}"


def note(key, value):
    """Append a JSON value to the notes under a key; tasks call it, in whatever process they run."""
    with _notes_file(key).open("a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")


def notes(key):
    """Return everything noted under a key, oldest first."""
    try:
        return [json.loads(line) for line in _notes_file(key).read_text("utf-8").splitlines()]
    except FileNotFoundError:
        return []


def wait_for_notes(key, count=1):
    """Wait until that many notes exist under a key, and return them all."""
    return until(lambda: notes(key), lambda found: len(found) >= count)


def until(look, is_enough, seconds=WAIT):
    """Look again and again until it is enough; fail when that takes too long."""
    deadline = time.monotonic() + seconds
    while not is_enough(seen := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"still {seen!r} after {seconds} s")
        time.sleep(LOOK)
    return seen


def _notes_file(key):
    return Path(os.environ["PARITY_NOTES"], f"{key}.jsonl")
