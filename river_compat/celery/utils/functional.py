"""Small functions over functions and iterables (`celery.utils.functional`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import kombu.utils.functional

from river_compat.celery.refused_names import refusing

__all__ = [
    "LRUCache",
    "arity_greater",
    "chunks",
    "dictfilter",
    "evaluate_promises",
    "first",
    "firstmethod",
    "fun_accepts_kwargs",
    "fun_takes_argument",
    "head_from_fun",
    "is_list",
    "is_numeric_value",
    "lazy",
    "lookahead",
    "mattrgetter",
    "maybe",
    "maybe_evaluate",
    "maybe_list",
    "memoize",
    "mlazy",
    "noop",
    "padlist",
    "pass1",
    "regen",
    "seq_concat_item",
    "seq_concat_seq",
    "uniq",
]

_kombu: Any = kombu.utils.functional
LRUCache: Any = _kombu.LRUCache
dictfilter: Any = _kombu.dictfilter
is_list: Any = _kombu.is_list
lazy: Any = _kombu.lazy
maybe_evaluate: Any = _kombu.maybe_evaluate
maybe_list: Any = _kombu.maybe_list
memoize: Any = _kombu.memoize


class mlazy(lazy):  # type: ignore[misc]  # noqa: N801 - kombu has no types; the name is Celery's
    """A value that is computed once, at its first use."""

    evaluated = False
    _value: Any = None

    def evaluate(self) -> Any:
        """Return the value."""
        if not self.evaluated:
            self._value = super().evaluate()
            self.evaluated = True
        return self._value


def noop(*args: Any, **kwargs: Any) -> None:
    """Do nothing."""


def pass1(arg: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG001 - takes whatever it is called with
    """Return the first argument."""
    return arg


def evaluate_promises(it: Iterable[Any]) -> Iterator[Any]:
    """Give every item, lazy ones by their value."""
    return (value.evaluate() if isinstance(value, mlazy) else value for value in it)


def first(predicate: Callable[[Any], Any] | None, it: Iterable[Any]) -> Any:
    """Return the first item for which `predicate` is true (by default: that is not None), or None."""
    wanted = predicate or (lambda item: item is not None)
    return next((item for item in evaluate_promises(it) if wanted(item)), None)


def firstmethod(method: str, on_call: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a function that calls one method of several objects until one returns a value."""

    def ask(objects: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        for item in objects:
            answer = getattr(maybe_evaluate(item), method)
            value = on_call(answer, *args, **kwargs) if on_call else answer(*args, **kwargs)
            if value is not None:
                return value
        return None

    return ask


def chunks(it: Iterator[Any], n: int) -> Iterator[list[Any]]:
    """Give lists of `n` items, the last one with what is left."""
    while part := list(islice(it, n)):
        yield part


def padlist(container: Sequence[Any], size: int, default: Any = None) -> list[Any]:
    """Return `size` items: cut, or filled up with a default."""
    return [*container[:size], *[default] * (size - len(container))]


def mattrgetter(*attrs: str) -> Callable[[Any], dict[str, Any]]:
    """Return a function that gives attributes of an object as a dict, None for what it lacks."""
    return lambda value: {name: getattr(value, name, None) for name in attrs}


def uniq(it: Iterable[Any]) -> Iterator[Any]:
    """Give every item once, in order."""
    return iter(dict.fromkeys(it))


def lookahead(it: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Give every item with the one after it; None follows the last."""
    items = iter(it)
    current = next(items, _END)
    while current is not _END:
        following = next(items, _END)
        yield current, None if following is _END else following
        current = following


_END: Any = object()


def regen(it: Any) -> Any:
    """Return something that can be iterated over again: a list or tuple as it is, else a list."""
    return it if isinstance(it, list | tuple) or it is None else list(it)


def head_from_fun(fun: Callable[..., Any], bound: bool = False) -> Callable[..., Any]:
    """Return a function that takes what `fun` takes and does nothing, to check arguments with.

    With `bound` the first parameter is not the caller's to give.
    """
    from river_compat.celery.app.definition import signature_check

    return signature_check(fun, bound)


def arity_greater(fun: Callable[..., Any], n: int) -> bool:
    """Whether a function takes more than `n` positional arguments."""
    spec = inspect.getfullargspec(fun)
    return spec.varargs is not None or len(spec.args) > n


def fun_takes_argument(name: str, fun: Callable[..., Any], position: int | None = None) -> bool:
    """Whether a function takes an argument, by this name or at this position."""
    spec = inspect.getfullargspec(fun)
    takes_any = spec.varkw is not None or spec.varargs is not None
    if takes_any:
        return True
    return len(spec.args) >= position if position is not None else name in spec.args


def fun_accepts_kwargs(fun: Callable[..., Any]) -> bool:
    """Whether a function takes any keyword."""
    parameters = inspect.signature(fun).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def maybe(typ: Callable[[Any], Any], val: Any) -> Any:
    """Convert a value unless it is None."""
    return None if val is None else typ(val)


def seq_concat_item(seq: Any, item: Any) -> Any:
    """Return a list or tuple with one item more."""
    return (*seq, item) if isinstance(seq, tuple) else [*seq, item]


def seq_concat_seq(a: Any, b: Any) -> Any:
    """Return two sequences as one of the longer one's type."""
    longer = type(max((a, b), key=len))
    return longer([*a, *b])


def is_numeric_value(value: Any) -> bool:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class DummyContext:
    """A context manager that does nothing."""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Let exceptions pass."""


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
