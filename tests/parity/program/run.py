"""The observing process: runs the named cases one after the other, one line of JSON for each."""

import importlib
import json
import sys
import time
import traceback

from . import cases
from .app import ping

WORKER_START = 90


def main(names):
    """Wait for the worker, then observe each case; an error of a case is its observation."""
    modules = {name: importlib.import_module(f"{cases.__name__}.{name}") for name in names}
    ping.delay().get(timeout=WORKER_START)
    begun = {name: _tried(module.begin) for name, module in modules.items() if hasattr(module, "begin")}
    for name, module in modules.items():
        started = time.monotonic()
        answer = {"case": name, **_observe(module, begun.get(name))}
        answer["seconds"] = round(time.monotonic() - started, 2)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _observe(module, begun):
    if begun is None:
        return _tried(module.observe)
    return _tried(module.observe, begun["observation"]) if "observation" in begun else begun


def _tried(call, *args):
    try:
        return {"observation": call(*args)}
    except Exception:  # noqa: BLE001 - the other cases go on
        return {"failure": traceback.format_exc()}


if __name__ == "__main__":
    main(sys.argv[1:])
