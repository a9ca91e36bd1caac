"""The observing process: runs the named cases, and prints one line of JSON for each."""

import importlib
import json
import sys
import threading
import time
import traceback

from . import cases
from .app import ping

WORKER_START = 90


def main(names):
    """Wait for the worker, then observe each case; an error of a case is its observation.

    Cases with processes of their own, which mostly wait for them, run beside the others.
    """
    modules = {name: importlib.import_module(f"{cases.__name__}.{name}") for name in names}
    ping.delay().get(timeout=WORKER_START)
    begun = {name: _tried(module.begin) for name, module in modules.items() if hasattr(module, "begin")}
    beside = {name: module for name, module in modules.items() if hasattr(module, "project")}
    others = {name: module for name, module in modules.items() if name not in beside}
    thread = threading.Thread(target=_answer, args=(beside, begun, sys.stdout), name="beside")
    thread.start()
    _answer(others, begun, sys.stdout)
    thread.join()


def _answer(modules, begun, answers):
    for name, module in modules.items():
        started = time.monotonic()
        answer = {"case": name, **_observe(module, begun.get(name))}
        answer["seconds"] = round(time.monotonic() - started, 2)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


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
