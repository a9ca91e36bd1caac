"""Tasks with `pydantic=True`: arguments arrive as models, a returned model leaves as plain values.

Only parameters and results that are annotated with one model, or with an optional one, are looked at.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from river_compat.celery.exceptions import ImproperlyConfigured

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

OPTIONS = ("pydantic", "pydantic_strict", "pydantic_context", "pydantic_dump_kwargs")
_PICKLE = frozenset({"pickle", "application/x-python-serialize"})
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_MISSING = object()


class ModelRules:
    """What one task validates and dumps. Annotations are read at the first call, when all names exist."""

    def __init__(
        self, app: Celery, name: str, function: Callable[..., Any], bound: bool, options: Mapping[str, Any]
    ) -> None:
        """Take the decorator's options; with `bound` the first parameter is the task."""
        self.function = function
        self.signature = inspect.signature(function)
        self._bound = bound
        self._strict = options.get("pydantic_strict", False)
        self._dump = {"mode": "json", **(options.get("pydantic_dump_kwargs") or {})}
        own = options.get("pydantic_context") or {}
        self._context = {**own, "celery_app": app, "celery_task_name": name}

    @cached_property
    def base(self) -> Any:
        """pydantic's BaseModel; raises ImproperlyConfigured where pydantic is missing."""
        try:
            return importlib.import_module("pydantic").BaseModel
        except ModuleNotFoundError as error:
            raise ImproperlyConfigured(
                "You need to install pydantic to use pydantic model serialization."
            ) from error

    @cached_property
    def models(self) -> dict[str, Any]:
        """Models by parameter, and the result's under `return`; annotations that name nothing give none."""
        try:
            hints = get_type_hints(self.function)
        except (NameError, TypeError):
            hints = dict(getattr(self.function, "__annotations__", {}))
        variable = {name for name, item in self.signature.parameters.items() if item.kind in _VARIABLE}
        found = {name: self._model(hint) for name, hint in hints.items() if name not in variable}
        return {name: model for name, model in found.items() if model is not None}

    def _model(self, hint: Any) -> Any:
        if get_origin(hint) in (Union, UnionType):
            others = [item for item in get_args(hint) if item is not NoneType]
            optional = len(others) == 1 and NoneType in get_args(hint)
            hint = others[0] if optional else None
        return hint if isinstance(hint, type) and issubclass(hint, self.base) else None

    def bind(self, args: Any, kwargs: Any) -> inspect.BoundArguments:
        """Return the arguments of a call, models in place of what stands for them."""
        bound = self.signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if name in self.models and value is not None:
                bound.arguments[name] = self._validated(self.models[name], value)
        return bound

    def _validated(self, model: Any, value: Any) -> Any:
        return model.model_validate(value, strict=self._strict, context=self._context)

    def dumped_result(self, value: Any) -> Any:
        """Return a result as plain values where it is the annotated model."""
        model = self.models.get("return")
        return value.model_dump(**self._dump) if model is not None and isinstance(value, model) else value

    def dumped_arguments(self, args: Any, kwargs: Any, serializer: str) -> tuple[Any, Any]:
        """Return a caller's arguments with models dumped that the task would get back equal.

        What cannot be dumped so is left to the serializer, and so is everything under pickle.
        """
        if serializer in _PICKLE:
            return args, kwargs
        if isinstance(args, list | tuple):
            args = self._dumped_positional(args)
        if isinstance(kwargs, Mapping):
            new = {name: self._dumped(name, value) for name, value in kwargs.items()}
            changed = {name: value for name, value in new.items() if value is not _MISSING}
            kwargs = {**kwargs, **changed} if changed else kwargs
        return args, kwargs

    def _dumped_positional(self, args: Any) -> Any:
        names = list(self.signature.parameters)[1 if self._bound else 0 :]
        values = [self._dumped(name, value) for name, value in zip(names, args, strict=False)]
        if all(value is _MISSING for value in values):
            return args
        kept = [old if new is _MISSING else new for old, new in zip(args, values, strict=False)]
        return type(args)([*kept, *args[len(kept) :]])

    def _dumped(self, name: str, value: Any) -> Any:
        model = self.models.get(name)
        if model is None or not isinstance(value, self.base) or hasattr(value, "__json__"):
            return _MISSING
        try:
            dumped = value.model_dump(**self._dump)
            again = self._validated(model, dumped)
        except Exception:  # noqa: BLE001 - a model that is no plain value is the serializer's to refuse
            return _MISSING
        return dumped if type(again) is type(value) and again == value else _MISSING


def with_models(rules: ModelRules) -> Callable[..., Any]:
    """Return the function of a task with its arguments validated and its result dumped."""
    function = rules.function
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def run_awaited(*args: Any, **kwargs: Any) -> Any:
            bound = rules.bind(args, kwargs)
            return rules.dumped_result(await function(*bound.args, **bound.kwargs))

        return run_awaited

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        bound = rules.bind(args, kwargs)
        return rules.dumped_result(function(*bound.args, **bound.kwargs))

    return run
