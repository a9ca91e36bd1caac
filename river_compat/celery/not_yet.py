"""Celery's names that are not here: each is refused by name, with what to do instead.

Attributes of an application, names of the package `celery`, and its submodules. A refusal of an attribute
is an AttributeError too, so `hasattr` answers no; one of a submodule is an ImportError.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from river_compat.celery.exceptions import (
    LATER,
    UnsupportedAttribute,
    UnsupportedModule,
    unsupported,
    unsupported_text,
)

PACKAGE = "river_compat.celery"
NO_BROKER = (
    "there is no broker; tasks are rows of the database: leave it out, and send with apply_async or send_task"
)
NO_PARTS = "this part of Celery does not exist here; leave it out"
ROWS = "results are in the tasks' own rows; leave it out"
START = "start workers with the command `river-compat worker`"
EVENTS = "workers send no events: read the rows of river_job, or ask by app.control.inspect()"

APPLICATION: dict[str, str] = {
    **dict.fromkeys(
        (
            "default_producer",
            "pool",
            "producer_or_acquire",
            "producer_pool",
        ),
        NO_BROKER,
    ),
    **dict.fromkeys(
        (
            "IS_WINDOWS",
            "IS_macOS",
            "Pickler",
            "SYSTEM",
            "amqp_cls",
            "backend_cls",
            "builtin_fixups",
            "clock",
            "control_cls",
            "create_task_cls",
            "either",
            "events_cls",
            "loader_cls",
            "log_cls",
            "prepare_config",
            "steps",
            "subclass_with_self",
            "type_checker",
            "use_fast_trace_task",
            "user_options",
        ),
        NO_PARTS,
    ),
    "set_as_current": "call app.set_current()",
    "setup_security": "signed messages do not exist here; restrict who may write to the database",
}

NAMES: dict[str, str] = {"maybe_patch_concurrency": START}

MODULES: dict[str, str] = {
    "app.backends": ROWS,
    "app.events": EVENTS,
    **dict.fromkeys(("apps.multi", "apps.worker"), START),
    **dict.fromkeys(
        (
            f"backends.{name}"
            for name in (
                "arangodb",
                "asynchronous",
                "azureblockblob",
                "cache",
                "cassandra",
                "consul",
                "cosmosdbsql",
                "couchbase",
                "couchdb",
                "database",
                "dynamodb",
                "elasticsearch",
                "filesystem",
                "gcs",
                "mongodb",
                "redis",
                "rpc",
                "s3",
            )
        ),
        ROWS,
    ),
    "bin": START,
    "bootsteps": NO_PARTS,
    "concurrency": START,
    "contrib.migrate": f"{LATER}; let the old workers finish what waits in the broker",
    "contrib.rdb": "use the standard library's breakpoint() in a task of a worker with -P solo",
    "contrib.sphinx": "document tasks as functions; autodoc finds what @app.task made of them",
    "contrib.testing.manager": "wait for the results themselves, with get(timeout=...)",
    "security": APPLICATION["setup_security"],
    **dict.fromkeys(
        (
            f"worker.{name}"
            for name in (
                "autoscale",
                "components",
                "consumer",
                "heartbeat",
                "loops",
                "pidbox",
                "strategy",
            )
        ),
        START,
    ),
}


def refuse_attribute(app: object, name: str) -> NoReturn:
    """Raise for an attribute that an application does not have: by name where it is Celery's."""
    way_out = APPLICATION.get(name)
    if way_out is not None:
        raise UnsupportedAttribute(unsupported_text(f"app.{name}", way_out))
    raise AttributeError(f"{type(app).__name__!r} object has no attribute {name!r}", name=name, obj=app)


def refuse_name(name: str) -> NoReturn:
    """Raise for a name that the package does not have.

    The refusal is no AttributeError: `from river_compat.celery import chain` would turn one into an
    ImportError with another text.
    """
    if (way_out := NAMES.get(name) or MODULES.get(name)) is not None:
        raise unsupported(name, way_out)
    raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}", name=name)


class RefusingFinder:
    """The last finder of `sys.meta_path`: refuses the submodules above, and finds nothing."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Raise UnsupportedModule for a submodule of Celery's that is not here."""
        del path, target
        if name.startswith(f"{PACKAGE}."):
            way_out = MODULES.get(name.removeprefix(f"{PACKAGE}."))
            if way_out is not None:
                raise UnsupportedModule(
                    unsupported_text(f"the module {name.removeprefix('river_compat.')}", way_out)
                )

    @classmethod
    def install(cls) -> None:
        """Append it; modules that exist are found before it is asked."""
        if cls not in sys.meta_path:
            sys.meta_path.append(cls)
