"""Celery's names that are not here: each is refused by name, with what to do instead.

Attributes of an application, and modules; `refused_names` has the names of the modules that are here. A
refusal of an attribute is an AttributeError too, so `hasattr` answers no; one of an import is an ImportError.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from river_compat.celery.refusals import UnsupportedAttribute, UnsupportedImport, unsupported_text
from river_compat.celery.refused_names import NAMES, PACKAGE, refusal
from river_compat.celery.ways_out import (
    DRAIN_FIRST,
    EVENTS,
    INTERNAL,
    NO_BROKER,
    NO_PARTS,
    ROWS,
    SIGNED,
    START,
)

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
    "setup_security": SIGNED,
}

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
    "contrib.migrate": DRAIN_FIRST,
    "contrib.rdb": "use the standard library's breakpoint() in a task of a worker with -P solo",
    "contrib.sphinx": "document tasks as functions; autodoc finds what @app.task made of them",
    "contrib.testing.manager": "wait for the results themselves, with get(timeout=...)",
    **dict.fromkeys(
        (f"events.{name}" for name in ("cursesmon", "dispatcher", "dumper", "receiver", "snapshot")), EVENTS
    ),
    "security": SIGNED,
    "utils.abstract": "ask isinstance(..., Task) and isinstance(..., Signature)",
    "utils.annotations": INTERNAL,
    "utils.deprecated": "use typing_extensions.deprecated, or warnings.warn with DeprecationWarning",
    "utils.quorum_queues": NO_BROKER,
    "utils.static": INTERNAL,
    "utils.timer2": "send a task with countdown=..., or use threading.Timer of the standard library",
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
    """Raise for a name that the package does not have."""
    if name in NAMES[""]:
        raise UnsupportedAttribute(refusal("", name))
    if (way_out := MODULES.get(name)) is not None:
        raise UnsupportedAttribute(unsupported_text(f"celery.{name}", way_out))
    raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}", name=name)


class RefusingFinder:
    """The last finder of `sys.meta_path`: refuses what is named above, and finds nothing."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Raise UnsupportedImport for a submodule of Celery's, or a name of its modules, that is not here."""
        del path, target
        if not name.startswith(f"{PACKAGE}."):
            return
        wanted = name.removeprefix(f"{PACKAGE}.")
        if (way_out := MODULES.get(wanted)) is not None:
            raise UnsupportedImport(unsupported_text(f"the module celery.{wanted}", way_out))
        module, _, last = wanted.rpartition(".")
        if last in NAMES.get(module, ()):
            raise UnsupportedImport(refusal(module, last))

    @classmethod
    def install(cls) -> None:
        """Append it; modules that exist are found before it is asked."""
        if cls not in sys.meta_path:
            sys.meta_path.append(cls)
