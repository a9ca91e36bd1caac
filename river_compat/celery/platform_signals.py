"""Signals of the operating system by their short names (`celery.platforms`)."""

from __future__ import annotations

import ctypes
import math
import signal
import sys
from collections.abc import Iterable, Mapping
from typing import Any

SIGNAMES = {name for name in dir(signal) if name.startswith("SIG") and "_" not in name}
SIGMAP = {getattr(signal, name): name for name in SIGNAMES}
_PR_SET_PDEATHSIG = 1


class Signals:
    """Handlers by name: `signals["INT"] = handler`. Names are upper case, with `SIG` or without.

    What this platform does not have, and what may be set in the main thread alone, is left as it is.
    """

    ignored = signal.SIG_IGN
    default = signal.SIG_DFL

    def arm_alarm(self, seconds: float) -> Any:
        """Let SIGALRM come in so many seconds."""
        if hasattr(signal, "setitimer"):
            return signal.setitimer(signal.ITIMER_REAL, seconds)
        return signal.alarm(math.ceil(seconds))

    def reset_alarm(self) -> int:
        """Let SIGALRM not come; returns in how many seconds it would have."""
        return signal.alarm(0)

    def supported(self, name: Any) -> bool:
        """Whether this platform has the signal; raises TypeError for what is no name of one."""
        try:
            self.signum(name)
        except AttributeError:
            return False
        return True

    def signum(self, name: Any) -> int:
        """Return a signal's number; raises TypeError for lower case, AttributeError for an unknown name."""
        if isinstance(name, int):
            return name
        if not isinstance(name, str) or not name.isupper():
            raise TypeError(f"a signal's name is upper case text, not {name!r}")
        number: int = getattr(signal, name if name.startswith("SIG") else f"SIG{name}")
        return number

    def reset(self, *signal_names: Any) -> None:
        """Give signals back to the system's own handling."""
        self.update((name, self.default) for name in signal_names)

    def ignore(self, *names: Any) -> None:
        """Ignore signals."""
        self.update((name, self.ignored) for name in names)

    def __getitem__(self, name: Any) -> Any:
        """Return the handler of a signal."""
        return signal.getsignal(self.signum(name))

    def __setitem__(self, name: Any, handler: Any) -> None:
        """Handle a signal."""
        try:
            signal.signal(self.signum(name), handler)
        except (AttributeError, ValueError):  # not on this platform, not in this thread
            return

    def update(self, _d_: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None, **sigmap: Any) -> None:
        """Handle several signals, given by name."""
        for name, handler in {**dict(_d_ or {}), **sigmap}.items():
            self[name] = handler


signals = Signals()
get_signal = signals.signum
install_signal_handler = signals.__setitem__
reset_signal = signals.reset
ignore_signal = signals.ignore


def signal_name(signum: int) -> str:
    """Return the name of a signal without its `SIG`."""
    return signal.Signals(signum).name.removeprefix("SIG")


def set_pdeathsig(name: Any) -> None:
    """Let this process get a signal when its parent ends, on Linux; elsewhere do nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signals.signum(name), 0, 0, 0)
