"""Modules that applications import, and what they take from each. Row 1.28."""

import inspect
from importlib import import_module

from celery import states

ROOT = states.__name__.removesuffix(".states")
MODULES = {
    "": "Celery Task app bugreport chain chord chunks current_app current_task group maybe_signature "
    "shared_task signature subtask uuid xmap xstarmap",
    "app": "app_or_default default_app shared_task",
    "app.control": "Control Inspect flatten_reply",
    "app.log": "Logging TaskFormatter",
    "app.task": "Context Task",
    "beat": "PersistentScheduler ScheduleEntry Scheduler Service",
    "canvas": "Signature chain chord chunks group maybe_signature signature subtask xmap xstarmap",
    "contrib.abortable": "ABORTED AbortableAsyncResult AbortableTask",
    "contrib.pytest": "celery_app celery_config celery_worker celery_session_app celery_session_worker",
    "contrib.testing.app": "TestApp setup_default_app",
    "contrib.testing.worker": "start_worker",
    "exceptions": "ChordError Ignore ImproperlyConfigured MaxRetriesExceededError NotRegistered "
    "OperationalError Reject Retry SoftTimeLimitExceeded TaskRevokedError TimeLimitExceeded TimeoutError "
    "WorkerLostError",
    "loaders.app": "AppLoader",
    "local": "Proxy",
    "result": "AsyncResult EagerResult GroupResult ResultBase ResultSet allow_join_result denied_join_result "
    "result_from_tuple",
    "schedules": "crontab crontab_parser maybe_schedule schedule solar",
    "signals": "after_setup_logger after_task_publish beat_init before_task_publish celeryd_init "
    "setup_logging task_failure task_postrun task_prerun task_received task_retry task_revoked task_success "
    "worker_init worker_process_init worker_ready worker_shutdown worker_shutting_down",
    "states": "ALL_STATES EXCEPTION_STATES FAILURE IGNORED PENDING READY_STATES RECEIVED REJECTED RETRY "
    "REVOKED STARTED SUCCESS UNREADY_STATES precedence state",
    "utils": "cached_property gen_unique_id uuid",
    "utils.log": "get_logger get_task_logger",
    "worker.control": "Panel control_command inspect_command",
    "worker.request": "Request",
}


def kind(value):
    if inspect.isclass(value):
        bases = {base.__name__ for base in value.__mro__}
        return "exception" if "BaseException" in bases else "class"
    return "callable" if callable(value) else repr(value) if isinstance(value, str) else "value"


def told(path, names):
    module = import_module(f"{ROOT}.{path}" if path else ROOT)
    found = {name: kind(getattr(module, name)) if hasattr(module, name) else None for name in names.split()}
    return {**found, "path": module.__name__}


def observe():
    return {path or "itself": told(path, names) for path, names in MODULES.items()}
