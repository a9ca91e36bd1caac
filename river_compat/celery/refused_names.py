"""Names of Celery's modules that are not here: each is refused by name, with what to do instead.

A module refuses them by one line, which makes its `__getattr__` and its `__path__`:

    __getattr__, __path__ = refusing(__name__)

Reading the attribute raises an AttributeError, so `hasattr` answers no. `from module import name` would turn
that into an ImportError with a text of Python's own; with a `__path__`, though an empty one, Python asks for
a submodule of the name first, and `not_yet.RefusingFinder` raises an ImportError with ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from river_compat.celery.refusals import UnsupportedAttribute, unsupported_text
from river_compat.celery.ways_out import (
    BACKEND,
    COMMANDS,
    EMBEDDED,
    EVENTS,
    INTERNAL,
    NO_BROKER,
    START,
    STATE,
    TRACING,
)

PACKAGE = "river_compat.celery"
C = TypeVar("C", bound=type)

_PICKLES = "applications are pickled by their settings; override __reduce_keys__ of your application's class"
_TRAPS = "name the application: app.set_current(), and app=... where one is taken"

_TABLE: dict[str, dict[str, str]] = {
    "": {START: "maybe_patch_concurrency"},
    "_state": {
        _TRAPS: "disable_trace enable_trace",
        "it is in celery.app": "app_or_default default_app",
    },
    "app": {_PICKLES: "AppPickler", _TRAPS: "disable_trace enable_trace"},
    "app.amqp": {NO_BROKER: "task_message", INTERNAL: "INT_MIN QUEUE_FORMAT utf8dict"},
    "app.base": {
        "app.conf reads its source at the first use of a setting": "PendingConfiguration",
        "give tasks pydantic=True": "pydantic_wrapper",
        INTERNAL: "BUILTIN_FIXUPS ERR_ENVVAR_NOT_SET USING_EXECV W_DUPTASK app_has_custom caller_stacklevel "
        "frame_is_celery task_callable_qualname",
    },
    "app.control": {INTERNAL: "W_DUPNODE"},
    "app.defaults": {
        "signed messages do not exist here": "DEFAULT_SECURITY_DIGEST",
        INTERNAL: "Namespace OLD_NS OLD_NS_BEAT OLD_NS_WORKER old_ns",
    },
    "app.log": {INTERNAL: "MP_LOG"},
    "app.task": {
        INTERNAL: "R_BOUND_TASK R_INSTANCE R_UNBOUND_TASK X_DEATH_HEADERS get_actual_ignore_result",
    },
    "app.trace": {
        START: "reset_worker_optimizations setup_worker_optimizations",
        TRACING: "fast_trace_task report_internal_error trace_ok_t trace_task trace_task_ret",
        "connect to, or send, the signals of celery.signals": "send_postrun send_prerun send_success",
        "call traceback.clear_frames(tb) of the standard library": "traceback_clear",
        INTERNAL: "info log_policy_t",
    },
    "app.utils": {
        _PICKLES: "AppPickler",
        INTERNAL: "BUGREPORT_INFO E_MIX_NEW_INTO_OLD E_MIX_OLD_INTO_NEW FMT_REPLACE_SETTING HIDDEN_SETTINGS "
        "detect_settings",
    },
    "apps.beat": {INTERNAL: "STARTUP_INFO_FMT"},
    "backends.base": {
        "give tasks ignore_result=True": "DisabledBackend",
        BACKEND: "BaseKeyValueStoreBackend KeyValueStoreBackend pending_results_t unpickle_backend",
        INTERNAL: "COMPRESSED_PAYLOAD_MAGIC EXCEPTION_ABLE_CODECS E_CHORD_NO_BACKEND E_NO_BACKEND "
        "E_UNKNOWN_COMPRESSION MESSAGE_BUFFER_MAX W_COMPRESSION_UNSUPPORTED W_FAILURE_EXPIRES_UNSUPPORTED "
        "compress_payload decompress_payload",
    },
    "canvas": {INTERNAL: "maybe_unroll_group task_name_from"},
    "contrib.testing.app": {"give TestApp enable_logging=True": "UnitLogging"},
    "events": {EVENTS: "event_exchange"},
    "events.event": {EVENTS: "EVENT_EXCHANGE_NAME event_exchange"},
    "events.state": {INTERNAL: "DRIFT_WARNING PYPY R_STATE R_TASK R_WORKER with_unique_field"},
    "fixups.django": {
        "the worker of an application in a Django project does it itself": "DjangoWorkerFixup",
        INTERNAL: "ERR_NOT_INSTALLED",
    },
    "loaders.base": {INTERNAL: "CONFIG_INVALID_NAME CONFIG_WITH_SUFFIX"},
    "local": {
        "import the modules by their own names": "COMPAT_MODULES DEFAULT_ATTRS DEPRECATED_ATTRS LazyModule "
        "MODULE_DEPRECATED create_module get_compat_module get_origins recreate_module",
        INTERNAL: "fun_of_method getappattr reclassmethod",
    },
    "platforms": {
        "the worker's start says what it thinks of root": "check_privileges",
        INTERNAL: "ASSUMING_ROOT ROOT_DISALLOWED ROOT_DISCOURAGED",
    },
    "result": {INTERNAL: "E_WOULDBLOCK"},
    "schedules": {
        INTERNAL: "CRON_DAYS_IN_MONTH CRON_INVALID_DATE CRON_INVALID_TYPE CRON_PATTERN_INVALID CRON_REPR "
        "SOLAR_EPHEM_NOT_INSTALLED SOLAR_INVALID_EVENT SOLAR_INVALID_LATITUDE SOLAR_INVALID_LONGITUDE",
    },
    "utils.collections": {
        "use collections.deque(maxlen=...), one for each key": "BufferMap Evictable Messagebuffer",
        INTERNAL: "LazyObject LazySettings REPR_LIMITED_SET",
    },
    "utils.debug": {
        "use faulthandler.dump_traceback_later() of the standard library": "blockdetection",
        "use psutil.Process(); mem_rss() tells the memory": "ps",
        INTERNAL: "hfloat",
    },
    "utils.dispatch.signal": {INTERNAL: "NONE_ID NO_RECEIVERS RECEIVER_RETRY_ERROR"},
    "utils.functional": {INTERNAL: "FUNHEAD_TEMPLATE"},
    "utils.graph": {"GraphFormatter writes the language; override its methods": "DOT"},
    "utils.iso8601": {INTERNAL: "ISO8601_REGEX TIMEZONE_REGEX"},
    "utils.log": {
        "use multiprocessing.current_process() of the standard library": "current_process",
        "give -f or `worker_log_format` its %i": "current_process_index",
        INTERNAL: "MP_LOG iter_open_logger_fds",
    },
    "utils.saferepr": {
        "use saferepr": "reprstream",
        INTERNAL: "LIT_DICT_END LIT_DICT_KVSEP LIT_DICT_START LIT_LIST_END LIT_LIST_SEP LIT_LIST_START "
        "LIT_SET_END LIT_SET_START LIT_TUPLE_END LIT_TUPLE_END_SV LIT_TUPLE_START chars_t safe_t set_t",
    },
    "utils.serialization": {
        "use kombu.utils.json.dumps, which knows times and ids": "jsonify",
        "write `raise error from other`": "raise_with_context",
        INTERNAL: "unwanted_base_classes",
    },
    "utils.term": {
        "print images by a program of your own": "imgcat supports_images",
        INTERNAL: "BLACK BLUE COLOR_SEQ CYAN GREEN IS_WINDOWS ITERM_PROFILE MAGENTA OP_SEQ RED RESET_SEQ "
        "TERM TERM_IS_SCREEN WHITE YELLOW fg",
    },
    "utils.text": {INTERNAL: "RE_FORMAT UNKNOWN_SIMPLE_FORMAT_KEY"},
    "utils.threads": {NO_BROKER: "bound_open_broker_sockets", INTERNAL: "USE_FAST_LOCALS"},
    "utils.time": {INTERNAL: "C_REMDEBUG DAYNAMES MONTHNAMES RATE_MODIFIER_MAP TIME_UNITS ZERO"},
    "worker.control": {
        COMMANDS: "active active_queues autoscale clock conf disable_events election enable_events heartbeat "
        "hello memdump memsample objgraph ping pool_grow pool_restart pool_shrink query_task rate_limit "
        "registered report reserved revoke revoke_by_stamped_headers revoked scheduled shutdown stats "
        "terminate time_limit",
        INTERNAL: "DEFAULT_TASK_INFO_ITEMS",
    },
    "worker.request": {
        START: "create_request_cls",
        STATE: "revoked_stamps revoked_tasks",
        "connect to, or send, the signals of celery.signals": "send_retry send_revoked",
        INTERNAL: "IS_PYPY tz_or_local",
    },
    "worker.worker": {
        INTERNAL: "DESELECT_UNKNOWN_QUEUE SELECT_UNKNOWN_QUEUE SHUTDOWN_SOCKET_TIMEOUT",
    },
    "worker.state": {
        EMBEDDED: "maybe_shutdown should_stop should_terminate",
        "revokes are rows of the database, which every worker reads": "Persistent merge_revoked",
        STATE: "active_requests all_total_count requests reserved_requests revoked revoked_stamps "
        "scheduled_requests successful_requests total_count",
        "use the signals task_received, task_prerun and task_postrun": "task_accepted task_ready "
        "task_reserved task_scheduled",
        INTERNAL: "C_BENCH C_BENCH_EVERY REVOKE_EXPIRES SUCCESSFUL_EXPIRES SUCCESSFUL_MAX reset_state",
    },
}

NAMES: dict[str, dict[str, str]] = {
    module: {name: way_out for way_out, names in ways.items() for name in names.split()}
    for module, ways in _TABLE.items()
}
"""Module, name, and what to do instead."""


def refusing(module: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__path__` of a module that refuses names, see above."""
    short = module.removeprefix(PACKAGE).removeprefix(".")
    names = NAMES[short]

    def refuse(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        raise UnsupportedAttribute(refusal(short, name))

    return refuse, []


def refusal(module: str, name: str) -> str:
    """Return the sentence that refuses a name of a module."""
    return unsupported_text(".".join(filter(None, ("celery", module, name))), NAMES[module][name])


class RefusedAttribute:
    """An attribute of a class that is not here."""

    def __init__(self, name: str, way_out: str) -> None:
        self.text = unsupported_text(name, way_out)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise UnsupportedAttribute(self.text)


def lacking(way_out: str, names: str) -> Callable[[C], C]:
    """Return a decorator that makes a class refuse attributes, whose names are separated by spaces.

    A subclass that defines one has it.
    """

    def decorate(cls: C) -> C:
        for name in names.split():
            setattr(cls, name, RefusedAttribute(f"{cls.__name__}.{name}", way_out))
        return cls

    return decorate
