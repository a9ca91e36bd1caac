"""The signals of `celery.signals`: what an application may listen to, and which arguments come with it."""

from __future__ import annotations

from river_compat.celery.utils.dispatch import Signal

__all__ = [
    "after_setup_logger",
    "after_setup_task_logger",
    "after_task_publish",
    "beat_embedded_init",
    "beat_init",
    "before_task_publish",
    "celeryd_after_setup",
    "celeryd_init",
    "eventlet_pool_apply",
    "eventlet_pool_postshutdown",
    "eventlet_pool_preshutdown",
    "eventlet_pool_started",
    "heartbeat_sent",
    "import_modules",
    "setup_logging",
    "task_failure",
    "task_internal_error",
    "task_postrun",
    "task_prerun",
    "task_received",
    "task_rejected",
    "task_retry",
    "task_revoked",
    "task_sent",
    "task_success",
    "task_unknown",
    "user_preload_options",
    "worker_before_create_process",
    "worker_init",
    "worker_process_init",
    "worker_process_shutdown",
    "worker_ready",
    "worker_shutdown",
    "worker_shutting_down",
]


def _signal(name: str, *arguments: str) -> Signal:
    return Signal(name=name, providing_args=arguments)


# -- the caller; the sender is the task's name

before_task_publish = _signal(
    "before_task_publish",
    "body",
    "exchange",
    "routing_key",
    "headers",
    "properties",
    "declare",
    "retry_policy",
)
after_task_publish = _signal("after_task_publish", "body", "exchange", "routing_key", "headers")
task_sent = _signal("task_sent", "task_id", "task", "args", "kwargs", "eta", "taskset")

# -- a run; the sender is the task, of `task_received`, `task_rejected` and `task_unknown` the worker

task_received = _signal("task_received", "request")
task_prerun = _signal("task_prerun", "task_id", "task", "args", "kwargs")
task_postrun = _signal("task_postrun", "task_id", "task", "args", "kwargs", "retval", "state")
task_success = _signal("task_success", "result", "runtime")
task_failure = _signal("task_failure", "task_id", "exception", "args", "kwargs", "traceback", "einfo")
task_retry = _signal("task_retry", "request", "reason", "einfo")
task_internal_error = _signal(
    "task_internal_error", "task_id", "args", "kwargs", "request", "exception", "traceback", "einfo"
)
task_revoked = _signal("task_revoked", "request", "terminated", "signum", "expired")
task_rejected = _signal("task_rejected", "message", "exc")
task_unknown = _signal("task_unknown", "message", "exc", "name", "id")

# -- a worker's life

celeryd_init = _signal("celeryd_init", "instance", "conf", "options")
celeryd_after_setup = _signal("celeryd_after_setup", "instance", "conf")
import_modules = _signal("import_modules")
worker_init = _signal("worker_init")
worker_before_create_process = _signal("worker_before_create_process")
worker_process_init = _signal("worker_process_init")
worker_process_shutdown = _signal("worker_process_shutdown", "pid", "exitcode")
worker_ready = _signal("worker_ready")
worker_shutting_down = _signal("worker_shutting_down", "sig", "how", "exitcode")
worker_shutdown = _signal("worker_shutdown")
heartbeat_sent = _signal("heartbeat_sent")

# -- logging

setup_logging = _signal("setup_logging", "loglevel", "logfile", "format", "colorize")
after_setup_logger = _signal("after_setup_logger", "logger", "loglevel", "logfile", "format", "colorize")
after_setup_task_logger = _signal(
    "after_setup_task_logger", "logger", "loglevel", "logfile", "format", "colorize"
)

# -- beat, commands, and the pools that are not here

beat_init = _signal("beat_init")
beat_embedded_init = _signal("beat_embedded_init")
user_preload_options = _signal("user_preload_options", "app", "options")
eventlet_pool_started = _signal("eventlet_pool_started")
eventlet_pool_preshutdown = _signal("eventlet_pool_preshutdown")
eventlet_pool_postshutdown = _signal("eventlet_pool_postshutdown")
eventlet_pool_apply = _signal("eventlet_pool_apply", "target", "args", "kwargs")
