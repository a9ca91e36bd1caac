"""Every setting by name: what it is worth by default, what has no effect, what is refused.

The names and defaults are Celery 5.7's; `river_*` and `task_priority_scheme` are ours. Old upper-case
names follow a few rules per section, with exceptions listed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from river_compat.celery.app import store_settings

HONOURED: dict[str, Any] = {
    "accept_content": ("json",),
    "beat_cron_starting_deadline": None,
    "beat_enable_remote_control": False,
    "beat_max_loop_interval": 0,
    "beat_remote_control_max_tick_age": None,
    "beat_schedule": {},
    "beat_scheduler": "celery.beat:PersistentScheduler",
    "beat_sync_every": 0,
    "broker_connection_timeout": 4,
    "broker_pool_limit": 10,
    "broker_url": None,
    "enable_utc": True,
    "imports": (),
    "include": (),
    "result_accept_content": None,
    "result_backend": None,
    "result_expires": timedelta(days=1),
    "result_extended": False,
    "result_failure_expires": None,
    "result_compression": None,
    "result_serializer": "json",
    "river_beat_namespace": None,
    "river_database_url": None,
    "river_driver": None,
    "river_durable_claims": True,
    "river_durable_inserts": True,
    "river_enqueue_in": "ambient",
    "river_listen_url": None,
    "river_notify_inserts": True,
    "river_plugins": (),
    "river_poll_only": False,
    "river_queue_names": "lenient",
    "river_rate_limit_scope": "global",
    "river_refresh_attempts_after": 600.0,
    "river_schema": "",
    "river_stream_chords": False,
    "river_using": None,
    "task_acks_late": False,
    "task_acks_on_failure": None,
    "task_acks_on_failure_or_timeout": True,
    "task_acks_on_timeout": None,
    "task_allow_error_cb_on_chord_header": False,
    "task_always_eager": False,
    "task_compression": None,
    "task_annotations": None,
    "task_create_missing_queues": True,
    "task_default_priority": None,
    "task_default_rate_limit": None,
    "worker_disable_rate_limits": False,
    "worker_enable_remote_control": True,
    "task_default_queue": "celery",
    "task_eager_propagates": False,
    "task_ignore_result": False,
    "task_inherit_parent_priority": False,
    "task_priority_scheme": None,
    "task_publish_retry": True,
    "task_publish_retry_policy": {
        "max_retries": 3,
        "interval_start": 0,
        "interval_max": 1,
        "interval_step": 0.2,
    },
    "task_queues": None,
    "task_reject_on_worker_lost": None,
    "task_remote_tracebacks": False,
    "task_routes": None,
    "task_serializer": "json",
    "task_retry_on_worker_lost": False,
    "task_soft_time_limit": None,
    "task_store_eager_result": False,
    "task_store_errors_even_if_ignored": False,
    "task_time_limit": None,
    "task_track_started": False,
    "timezone": None,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "worker_concurrency": None,
    "worker_hijack_root_logger": True,
    "worker_log_color": None,
    "worker_log_datefmt": None,
    "worker_log_format": "[%(asctime)s: %(levelname)s/%(processName)s] %(message)s",
    "worker_max_memory_per_child": None,
    "worker_max_tasks_per_child": None,
    "worker_pool": "prefork",
    "worker_pool_start_method": "fork",
    "worker_redirect_stdouts": True,
    "worker_redirect_stdouts_level": "WARNING",
    "worker_soft_shutdown_timeout": 0.0,
    "worker_task_log_datefmt": None,
    "worker_task_log_format": (
        "[%(asctime)s: %(levelname)s/%(processName)s] %(task_name)s[%(task_id)s]: %(message)s"
    ),
}

NO_EFFECT: dict[str, Any] = {
    "beat_schedule_filename": "celerybeat-schedule",
    "broker_channel_error_retry": False,
    "broker_connection_max_retries": 100,
    "broker_connection_retry": True,
    "broker_connection_retry_on_startup": None,
    "broker_failover_strategy": None,
    "broker_heartbeat": 120,
    "broker_heartbeat_checkrate": 3.0,
    "broker_login_method": None,
    "broker_native_delayed_delivery_queue_type": "quorum",
    "broker_pool_acquire_timeout": None,
    "broker_transport_options": {},
    "broker_use_ssl": False,
    "result_cache_max": -1,
    "result_chord_expires": None,
    "result_chord_join_timeout": 3.0,
    "result_chord_retry_interval": 1.0,
    "result_exchange": "celeryresults",
    "result_exchange_type": "direct",
    "result_persistent": None,
    "task_create_missing_queue_exchange_type": None,
    "task_create_missing_queue_type": "classic",
    "task_default_delivery_mode": 2,
    "task_default_exchange": None,
    "task_default_exchange_type": "direct",
    "task_default_queue_type": "classic",
    "task_default_routing_key": None,
    "task_queue_max_priority": None,
    "task_repr_maxlevels": 3,
    "task_send_sent_event": False,
    "worker_agent": None,
    "worker_autoscaler": "celery.worker.autoscale:Autoscaler",
    "worker_consumer": None,
    "worker_deduplicate_successful_tasks": False,
    "worker_detect_quorum_queues": True,
    "worker_disable_prefetch": False,
    "worker_enable_prefetch_count_reduction": True,
    "worker_enable_soft_shutdown_on_idle": False,
    "worker_eta_task_limit": None,
    "worker_lost_wait": 10.0,
    "worker_pool_putlocks": True,
    "worker_pool_restarts": False,
    "worker_prefetch_multiplier": 4,
    "worker_proc_alive_timeout": 4.0,
    "worker_send_task_events": False,
    "worker_state_db": None,
    "worker_timer": None,
    "worker_timer_precision": 1.0,
}
NO_EFFECT_PREFIXES = store_settings.PREFIXES
NOT_USED_YET = frozenset(
    {
        "broker_connection_timeout",
        "broker_pool_limit",
        "result_extended",
    }
)
"""Settings that are read and kept, but nothing asks for them."""

SECTIONS = ("beat_", "broker_", "result_", "river_", "task_", "worker_", "security_", *NO_EFFECT_PREFIXES)

OF_REFUSED: dict[str, Any] = {
    "broker_host": None,
    "broker_password": None,
    "broker_port": None,
    "broker_read_url": None,
    "broker_transport": None,
    "broker_user": None,
    "broker_vhost": None,
    "broker_write_url": None,
    "security_cert_store": None,
    "security_certificate": None,
    "security_digest": "sha256",
    "security_key": None,
    "security_key_password": None,
    "task_protocol": 2,
    "task_retry_on_worker_lost": False,
    "task_soft_time_limit": None,
    "task_time_limit": None,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "worker_direct": False,
    "worker_max_memory_per_child": None,
    "worker_max_tasks_per_child": None,
    "worker_soft_shutdown_timeout": 0.0,
}
"""Defaults of settings of which some values are refused."""

DEFAULTS: dict[str, Any] = {**OF_REFUSED, **store_settings.DEFAULTS, **NO_EFFECT, **HONOURED}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A setting that is refused for some of its values, and the way out."""

    applies: Callable[[Any], bool]
    way_out: str


def _given(value: Any) -> bool:
    return bool(value)


def _gets_copies(queues: Any) -> bool:
    """Whether a queue among `task_queues` is bound in a way that one row cannot follow."""
    options = queues.values() if isinstance(queues, Mapping) else queues or ()
    return any(_exchange_type(item) not in (None, "direct", "topic") for item in options)


def _exchange_type(queue: Any) -> Any:
    if isinstance(queue, Mapping):
        return queue.get("exchange_type")
    return getattr(getattr(queue, "exchange", None), "type", None)


_NOT_YET = "it is not implemented yet; remove the setting"
REFUSED: dict[str, Refusal] = {
    **dict.fromkeys(
        ("broker_host", "broker_password", "broker_port", "broker_user", "broker_vhost"),
        Refusal(_given, "give the database as one URL in river_database_url"),
    ),
    "broker_read_url": Refusal(_given, "there is one database; set broker_url or river_database_url"),
    "broker_transport": Refusal(_given, "the scheme of broker_url names the database"),
    "broker_write_url": Refusal(_given, "there is one database; set broker_url or river_database_url"),
    "river_queue_names": Refusal(
        lambda value: value not in ("lenient", "strict"), "use 'lenient' or 'strict'"
    ),
    "river_rate_limit_scope": Refusal(
        lambda value: value not in ("global", "worker"), "use 'global' or 'worker'"
    ),
    "river_enqueue_in": Refusal(
        lambda value: value not in ("ambient", "own", "after_commit"),
        "use 'ambient', 'own' or 'after_commit'",
    ),
    "task_protocol": Refusal(
        lambda value: value not in (1, 2),
        "there are 1 and 2, and rows have one format; remove it",
    ),
    "task_queues": Refusal(_gets_copies, "a row has one queue; send the task once for each queue"),
    "task_serializer": Refusal(lambda value: value == "auth", "signed messages do not exist; use 'json'"),
    "worker_pool_start_method": Refusal(
        lambda value: value not in ("fork", "spawn", None), "use 'fork' or 'spawn'"
    ),
    "worker_direct": Refusal(
        _given, "a row belongs to no worker; give each worker a queue of its own with -Q"
    ),
}
SECURITY = Refusal(
    lambda value: bool(value) and value != OF_REFUSED["security_digest"],
    "signed messages do not exist here; restrict who may write to the database",
)

_OLD_PREFIX = {"worker_": "CELERYD_", "beat_": "CELERYBEAT_"}
_OLD_SPECIAL = {
    **store_settings.OLD_NAMES,
    "result_cache_max": "CELERY_MAX_CACHED_RESULTS",
    "result_expires": "CELERY_TASK_RESULT_EXPIRES",
    "task_compression": "CELERY_MESSAGE_COMPRESSION",
    "task_eager_propagates": "CELERY_EAGER_PROPAGATES_EXCEPTIONS",
    "task_protocol": "CELERY_TASK_PROTOCOL",
    "task_publish_retry": "CELERY_TASK_PUBLISH_RETRY",
    "task_publish_retry_policy": "CELERY_TASK_PUBLISH_RETRY_POLICY",
    "task_send_sent_event": "CELERY_SEND_TASK_SENT_EVENT",
    "task_serializer": "CELERY_TASK_SERIALIZER",
    "task_soft_time_limit": "CELERYD_TASK_SOFT_TIME_LIMIT",
    "task_time_limit": "CELERYD_TASK_TIME_LIMIT",
    "worker_direct": "CELERY_WORKER_DIRECT",
    "worker_disable_rate_limits": "CELERY_DISABLE_RATE_LIMITS",
    "worker_enable_remote_control": "CELERY_ENABLE_REMOTE_CONTROL",
    "worker_lost_wait": "CELERYD_WORKER_LOST_WAIT",
    "worker_redirect_stdouts": "CELERY_REDIRECT_STDOUTS",
    "worker_redirect_stdouts_level": "CELERY_REDIRECT_STDOUTS_LEVEL",
    "worker_send_task_events": "CELERY_SEND_EVENTS",
}
_OLD_AS_NEW = frozenset({"enable_utc", "result_accept_content"})


def old_name(name: str) -> str:
    """Return the upper-case name that a setting had before Celery 4."""
    if name in _OLD_SPECIAL:
        return _OLD_SPECIAL[name]
    if name in _OLD_AS_NEW or name.startswith("broker_"):
        return name.upper()
    for section, prefix in _OLD_PREFIX.items():
        if name.startswith(section):
            return prefix + name.removeprefix(section).upper()
    return "CELERY_" + name.removeprefix("task_").upper()


KNOWN = frozenset({*DEFAULTS, *REFUSED})


def has_effect(name: str) -> bool:
    """Whether anything here depends on a setting; True for names that are not Celery's."""
    return not (name in NO_EFFECT or name in NOT_USED_YET or name.startswith(NO_EFFECT_PREFIXES))


OF_OLD_NAME: dict[str, str] = {
    old_name(name): name for name in sorted(KNOWN) if not name.startswith("river_")
}
