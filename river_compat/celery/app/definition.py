"""From a function and its decorator options to a task class and its one instance."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from river_compat.celery.app.models import OPTIONS as MODEL_OPTIONS
from river_compat.celery.app.models import ModelRules, with_models
from river_compat.celery.exceptions import DuplicateTaskNameWarning, unsupported
from river_compat.celery.leftovers import refuse_base
from river_compat.celery.refused_names import RefusedAttribute
from river_compat.celery.ways_out import HANDLERS

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.app.task import Task

_PACKAGE = "river_compat."
REFUSED_OPTIONS: dict[str, str] = {
    "Request": HANDLERS,
    "Strategy": HANDLERS,
    "backend": "results are in the task's own row; leave the option out",
}


def generated_name(main: str | None, name: str, module: str | None) -> str:
    """Return `module.name`; for a script the application's `main` stands for its module."""
    loaded = sys.modules.get(module or "__main__")
    module_name = loaded.__name__ if loaded is not None else module
    if module_name == "__main__" and main:
        module_name = main
    return f"{module_name}.{name}"


def refuse_options(cls: type[Any], name: str) -> None:
    """Raise UnsupportedFeature for a class of Celery's itself, or an option of it that is not supported."""
    refuse_base(cls, name)
    for option, way_out in REFUSED_OPTIONS.items():
        value = inspect.getattr_static(cls, option, None)
        if value and not isinstance(value, property | RefusedAttribute):
            raise unsupported(f"the option {option}={value!r} of task {name}", way_out)


def refuse_generators(name: str, function: Callable[..., Any]) -> None:
    """Raise UnsupportedFeature for `async def` with `yield`, which has no one result."""
    if inspect.isasyncgenfunction(function):
        raise unsupported(f"the asynchronous generator of task {name}", "return the values as a list")


def signature_check(function: Callable[..., Any], bound: bool) -> Callable[..., None]:
    """Return a function that raises TypeError for arguments that `function` would not take.

    With `bound` the first parameter is the task and is not the caller's to give. The check is an
    empty function with the same parameters, so that speed and wording are Python's own.
    """
    signature = inspect.signature(function, follow_wrapped=False)
    parameters = [
        parameter.replace(annotation=parameter.empty, default=_placeholder(parameter))
        for parameter in signature.parameters.values()
    ]
    header = signature.replace(parameters=parameters, return_annotation=signature.empty)
    namespace: dict[str, Any] = {}
    exec(f"def check{header}: pass", namespace)  # noqa: S102 - only names of parameters get in
    check: Callable[..., None] = namespace["check"]
    check.__name__ = check.__qualname__ = getattr(function, "__name__", type(function).__name__)
    return partial(check, None) if bound else check


def _placeholder(parameter: inspect.Parameter) -> Any:
    return parameter.empty if parameter.default is parameter.empty else None


def make_task(
    app: Celery,
    function: Callable[..., Any],
    name: str,
    base: type[Any],
    bind: bool,
    options: Mapping[str, Any],
) -> Task[..., Any]:
    """Return a new, unbound instance of a class made for `function`.

    Options become attributes of the class. Raises UnsupportedFeature.
    """
    refuse_generators(name, function)
    run = function
    if options.get("pydantic"):
        rules = ModelRules(app, name, function, bind, options)
        run = with_models(rules)
        options = {**options, "_dump_arguments": staticmethod(rules.dumped_arguments)}
    options = {key: value for key, value in options.items() if key not in MODEL_OPTIONS}
    attributes: dict[str, Any] = {
        "_app": app,
        "name": name,
        "run": run if bind else staticmethod(run),
        "__doc__": function.__doc__,
        "__module__": function.__module__,
        "__annotations__": getattr(function, "__annotations__", {}),
        "__header__": staticmethod(signature_check(function, bind)),
        "__wrapped__": function if bind else staticmethod(function),
        "_decorated_function": staticmethod(function),
        **options,
    }
    cls: Any = type(function.__name__, (base,), attributes)
    refuse_options(cls, name)
    task: Task[..., Any] = cls()
    task.__dict__["__qualname__"] = getattr(function, "__qualname__", function.__name__)
    task.__dict__["__name__"] = function.__name__
    return task


def warn_duplicate(name: str, existing: Any, new: Any, consequence: str) -> None:
    """Warn that two callables want one task name."""
    text = f"task name {name!r} is taken by {_path(existing)}; {_path(new)} wants it too. {consequence}"
    warnings.warn(DuplicateTaskNameWarning(text), stacklevel=levels_to_the_caller())


def levels_to_the_caller() -> int:
    """Return the `stacklevel` of the first frame outside this package, seen from the function above."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


def _path(value: Any) -> str:
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
