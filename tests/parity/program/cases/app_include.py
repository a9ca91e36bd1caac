"""A worker knows the tasks of modules that only its settings name. Row 1.17."""

import importlib
import sys
import tempfile
from pathlib import Path

from celery import Celery

from ..app import INCLUDED, app
from ..observation import outcome


def imported(**settings):
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "named_by_include.py").touch()
        Path(directory, "named_by_imports.py").touch()
        sys.path.insert(0, directory)
        importlib.invalidate_caches()
        try:
            other = Celery("include", set_as_current=False, **settings)
            before = [name in sys.modules for name in ("named_by_include", "named_by_imports")]
            other.loader.import_default_modules()
            return [before, [name in sys.modules for name in ("named_by_include", "named_by_imports")]]
        except ImportError as error:
            return [type(error).__name__, str(error)]
        finally:
            sys.path.remove(directory)
            for name in ("named_by_include", "named_by_imports"):
                sys.modules.pop(name, None)


def observe():
    return {
        "by_the_worker": outcome(app.send_task(f"{INCLUDED}.answer", (3,))),
        "not_here": [INCLUDED in sys.modules, f"{INCLUDED}.answer" in app.tasks],
        "both": imported(include=["named_by_include"], imports=("named_by_imports",)),
        "missing": imported(include=["no_module_of_anybody"]),
    }
