"""`autodiscover_tasks`: lazily or at once, what is missing and what is broken. Row 1.16."""

import importlib
import sys
import tempfile
from pathlib import Path

from celery import Celery

TASK = "from celery import shared_task\n@shared_task(name='found.{}')\ndef task(): pass\n"
FILES = {
    "with_tasks": {"tasks": TASK.format("in_tasks")},
    "with_jobs": {"jobs": TASK.format("in_jobs")},
    "itself": {"__init__": TASK.format("itself")},
    "without": {},
    "broken": {"tasks": "import no_such_module_of_anybody\n"},
    "wrong": {"tasks": "raise ValueError('while importing')\n"},
}


def write(directory, prefix):
    package = Celery.__module__.rpartition(".app.base")[0]
    for name, modules in FILES.items():
        folder = Path(directory, prefix + name)
        folder.mkdir()
        (folder / "__init__.py").touch()
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(source.replace("from celery", f"from {package}"))


def found(*packages, related_name="tasks", how=list):
    app = Celery("discovery", set_as_current=False)
    app.autodiscover_tasks(how(packages), related_name=related_name)
    before = [name in sys.modules for name in packages]
    try:
        app.loader.import_default_modules()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what was observed
        return [before, type(error).__name__, str(error)]
    return [before, sorted(name for name in app.tasks if name.startswith("found."))]


def asked(packages):
    return lambda: list(packages)


def at_once(package):
    app = Celery("discovery", set_as_current=False)
    app.autodiscover_tasks([package], force=True)
    return f"{package}.tasks" in sys.modules


def observe():
    with tempfile.TemporaryDirectory() as directory:
        sys.path.insert(0, directory)
        try:
            write(directory, "discovered_")
            write(directory, "forced_")
            importlib.invalidate_caches()
            return {
                "missing": found("discovered_without"),
                "broken": found("discovered_broken"),
                "wrong": found("discovered_wrong"),
                "no_package": found("discovered_nowhere"),
                "tasks": found("discovered_with_tasks", "discovered_without"),
                "callable": found("discovered_with_jobs", related_name="jobs", how=asked),
                "itself": found("discovered_itself", related_name=None),
                "at_once": at_once("forced_with_tasks"),
            }
        finally:
            sys.path.remove(directory)
