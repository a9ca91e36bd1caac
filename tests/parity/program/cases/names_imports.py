"""What applications import is there. Row 22.5."""

from importlib import import_module

from celery import states

ROOT = states.__name__.removesuffix(".states")
NAMES = (
    "app:bugreport",
    "app.task:Task",
    "exceptions:MaxRetriesExceededError",
    "loaders.app:AppLoader",
    "local:Proxy",
    "result:AsyncResult",
    "schedules:crontab",
    "signals:task_prerun",
    "states:PENDING",
    "utils:uuid",
    "utils.functional:chunks",
    "utils.imports:symbol_by_name",
    "utils.log:get_task_logger",
    "utils.nodenames:nodesplit",
    "utils.objects:Bunch",
    "utils.serialization:strtobool",
    "utils.time:maybe_timedelta",
)


def there(path):
    module, name = path.split(":")
    return hasattr(import_module(f"{ROOT}.{module}"), name)


def observe():
    return {path: there(path) for path in NAMES}
