"""`Signal`: tells everybody who asked for it that something happens (`celery.utils.dispatch.signal`)."""

from __future__ import annotations

import inspect
import logging
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable
from functools import wraps
from types import MethodType
from typing import TYPE_CHECKING, Any

from kombu.utils.functional import retry_over_time

from river_compat.celery.exceptions import CDeprecationWarning
from river_compat.celery.local import PromiseProxy, Proxy
from river_compat.celery.refused_names import refusing

__all__ = ["Signal"]

Receiver = Callable[..., Any]

logger = logging.getLogger("celery.utils.dispatch.signal")


class Signal:
    """Something that happens, and the receivers that are called then.

    `providing_args` and `name` tell people what it is; `use_caching` is taken and needs nothing, since
    finding the few receivers of a signal costs less than keeping them found.
    """

    def __init__(
        self, providing_args: Iterable[str] | None = None, use_caching: bool = False, name: str | None = None
    ) -> None:
        """Nobody is connected yet."""
        self.providing_args = set(providing_args or ())
        self.use_caching = use_caching
        self.name = name
        self.receivers: list[tuple[tuple[Any, Any], Any]] = []
        self.sender_receivers_cache: dict[Any, Any] = {}
        self.lock = threading.Lock()

    def connect(self, *args: Any, **kwargs: Any) -> Any:
        """Call a receiver from now on: `connect(receiver, sender=None, weak=True, dispatch_uid=None,
        retry=False)`, or the same without the receiver as a decorator.

        Only signals of `sender` are passed on, all for None. A weak receiver is forgotten with its
        object. Of receivers with one `dispatch_uid` the first stays. With `retry` a receiver that raises
        is called again, for ever, with growing pauses. Raises ValueError for one that does not take
        keyword arguments.
        """
        if args and callable(args[0]):
            return self._connect(*args, **kwargs)
        return lambda receiver: self._connect(receiver, *args, **kwargs)

    def _connect(
        self,
        receiver: Receiver,
        sender: Any = None,
        weak: bool = True,
        dispatch_uid: Any = None,
        retry: bool = False,
    ) -> Receiver:
        if retry:
            weak, dispatch_uid = False, dispatch_uid or _identity(receiver)
            receiver = _persistent(receiver, dispatch_uid)
        if not _takes_keywords(receiver):
            raise ValueError(f"a signal's receiver must take keyword arguments (**kwargs): {receiver!r}")
        if isinstance(sender, PromiseProxy):
            sender.__then__(self._add, receiver, weak, dispatch_uid, sender)
        else:
            self._add(receiver, weak, dispatch_uid, sender)
        return receiver

    def _add(self, receiver: Receiver, weak: bool, dispatch_uid: Any, sender: Any) -> None:
        key = _key(receiver, sender, dispatch_uid)
        with self.lock:
            self._forget_dead()
            if all(known != key for known, _ in self.receivers):
                self.receivers.append((key, _reference(receiver) if weak else receiver))

    def disconnect(
        self, receiver: Receiver | None = None, sender: Any = None, weak: Any = None, dispatch_uid: Any = None
    ) -> bool:
        """Call a receiver no longer; returns whether it was connected for this sender."""
        if weak is not None:
            warnings.warn(CDeprecationWarning("weak= has no effect on disconnect"), stacklevel=2)
        key = _key(receiver, sender, dispatch_uid)
        with self.lock:
            self._forget_dead()
            before = len(self.receivers)
            self.receivers[:] = [item for item in self.receivers if item[0] != key]
            return len(self.receivers) < before

    def has_listeners(self, sender: Any = None) -> bool:
        """Whether anybody would be called for a signal of `sender`."""
        return bool(self.receivers) and bool(self._live(sender))

    def send(self, sender: Any, **named: Any) -> list[tuple[Receiver, Any]]:
        """Call the receivers in the order they were connected; returns each with what it returned.

        What a receiver raises is logged, and is its response; the others are called all the same.
        """
        if not self.receivers:
            return []
        return [(receiver, self._response(receiver, sender, named)) for receiver in self._live(sender)]

    send_robust = send

    def _response(self, receiver: Receiver, sender: Any, named: dict[str, Any]) -> Any:
        try:
            return receiver(signal=self, sender=sender, **named)
        except Exception as error:
            logger.exception("Signal handler %r raised: %r", receiver, error)
            return error

    def _live(self, sender: Any) -> list[Receiver]:
        wanted = (_NOBODY, _identity(sender))
        with self.lock:
            self._forget_dead()
            found = [reference for (_, of), reference in self.receivers if of in wanted]
        return [receiver for item in found if (receiver := _receiver(item)) is not None]

    def _forget_dead(self) -> None:
        """Drop receivers that are gone; the list stays the same object, since others hold it."""
        if any(_receiver(item) is None for _, item in self.receivers):
            self.receivers[:] = [item for item in self.receivers if _receiver(item[1]) is not None]

    def __repr__(self) -> str:
        """Show name and arguments."""
        return f"<{type(self).__name__}: {self.name} providing_args={self.providing_args!r}>"


def _identity(target: Any) -> Any:
    """Return what tells senders and receivers apart: text is itself, all else is its object."""
    if isinstance(target, Proxy):
        target = target._get_current_object()
    if isinstance(target, bytes | str):
        return target
    if hasattr(target, "__func__"):  # a bound method is a new object at each access
        return id(getattr(target, "__self__", None)), id(target.__func__)
    return id(target)


_NOBODY = _identity(None)


def _key(receiver: Any, sender: Any, dispatch_uid: Any) -> tuple[Any, Any]:
    uid = dispatch_uid or getattr(receiver, "_dispatch_uid", None) or _identity(receiver)
    return uid, _identity(sender)


def _reference(receiver: Receiver) -> Any:
    return weakref.WeakMethod(receiver) if isinstance(receiver, MethodType) else weakref.ref(receiver)


def _receiver(reference: Any) -> Receiver | None:
    found: Receiver | None = reference() if isinstance(reference, weakref.ref) else reference
    return found


def _takes_keywords(receiver: Receiver) -> bool:
    try:
        parameters = inspect.signature(receiver).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _persistent(receiver: Receiver, dispatch_uid: Any) -> Receiver:
    """Return a receiver that is called until it does not raise."""

    def tell(_: BaseException, pauses: Any, __: int) -> float:
        seconds: float = next(pauses)
        logger.error("signal receiver %r failed; it is called again in %g s", receiver, seconds)
        return seconds

    @wraps(receiver)
    def call(*args: Any, **kwargs: Any) -> Any:
        return retry_over_time(receiver, Exception, args, kwargs, tell)  # type: ignore[no-untyped-call]  # kombu

    call.__dict__["_dispatch_uid"] = dispatch_uid
    return call


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
