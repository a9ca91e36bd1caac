"""The observing process: runs the named cases, and prints one line of JSON for each."""

import contextlib
import importlib
import json
import signal
import subprocess
import sys
import threading
import time
import traceback

from . import cases
from .app import ping

WORKER_START = 90
_printing = threading.Lock()


def main(names):
    """Wait for the worker, then observe each case; an error of a case is its observation.

    Cases with processes of their own, which mostly wait for them, run in a second process beside the others.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    modules = {name: importlib.import_module(f"{cases.__name__}.{name}") for name in names}
    beside = [name for name, module in modules.items() if hasattr(module, "project")]
    if len(beside) in (0, len(names)):
        _answer(modules)
        return
    with _observing(beside):
        _answer({name: module for name, module in modules.items() if name not in beside})


def _answer(modules):
    ping.delay().get(timeout=WORKER_START)
    begun = {name: _tried(module.begin) for name, module in modules.items() if hasattr(module, "begin")}
    for name, module in modules.items():
        started = time.monotonic()
        answer = {"case": name, **_observe(module, begun.get(name))}
        answer["seconds"] = round(time.monotonic() - started, 2)
        _print(json.dumps(answer))


@contextlib.contextmanager
def _observing(names):
    with subprocess.Popen(
        [sys.executable, "-m", __spec__.name, *names], stdout=subprocess.PIPE, text=True
    ) as process:
        reader = threading.Thread(target=lambda: [_print(line.rstrip()) for line in process.stdout])
        reader.start()
        try:
            yield
            reader.join()
        finally:
            process.terminate()


def _print(line):
    with _printing:
        sys.stdout.write(f"{line}\n")
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
