"""The one life cycle of everything in a worker that owns a thread.

A service is started once, woken by others, and stopped; stopping twice is harmless. A loop service
overrides `run_once`; what it raises is logged and the loop goes on.
"""

from __future__ import annotations

import logging
import threading
import time

from river_core.errors import OperationalError

logger = logging.getLogger(__name__)

ERROR_DELAY = 1.0
STOP_LOOK_SECONDS = 0.05


class Service:
    """A named daemon thread with a wake-up and a stop flag."""

    error_delay: float = ERROR_DELAY
    """Seconds to wait after `run_once` raised."""
    max_error_delay: float = 10.0
    """Up to here the wait doubles with each further failure."""

    def __init__(self, name: str) -> None:
        """Name the thread; nothing is started."""
        self.name = name
        self._awake = threading.Event()
        self._stopping = False
        self._failures = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    def stopping(self) -> bool:
        """Whether the service was asked to stop."""
        return self._stopping

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def ended(self) -> bool:
        """Whether the thread was started and runs no more; not so before the first start."""
        thread = self._thread
        return thread is not None and not thread.is_alive()

    def start(self) -> None:
        """Start the thread; a service that was stopped starts anew."""
        with self._starting:
            if self.alive:
                return
            self._stopping = False
            self._awake.clear()
            thread = threading.Thread(target=self.run, name=self.name, daemon=True)
            thread.start()
            self._thread = thread  # only now: others would take one that was not started for dead

    def ask_stop(self) -> None:
        """Ask the thread to end and return at once."""
        self._stopping = True
        self.wake()

    def join(self, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds for the thread to end; return whether it has."""
        with self._starting:
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def stop(self, timeout: float | None = None) -> bool:
        """Ask to end and wait up to `timeout` seconds; return whether the thread has ended."""
        self.ask_stop()
        return self.join(timeout)

    def wake(self) -> None:
        """Let the loop take its next turn now."""
        self._awake.set()

    def wait(self, seconds: float | None) -> bool:
        """Sleep until woken, asked to stop, or `seconds` have passed; return whether to stop."""
        if not self._stopping:
            self._awake.wait(seconds)
        self._awake.clear()
        return self._stopping

    def pause(self, seconds: float) -> bool:
        """Sleep `seconds` whatever wakes come meanwhile, unless asked to stop; return whether to stop."""
        until = time.monotonic() + seconds
        while not self._stopping and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, STOP_LOOK_SECONDS))
        return self._stopping

    def run(self) -> None:
        """Take turns until asked to stop. Override `run_once`, or this for another shape of loop."""
        try:
            self.begin()
            while not self._stopping:
                self.wait(self.turn())
        finally:
            self.on_stop()

    def begin(self) -> None:
        """Run `on_start` until it succeeds: what it raises must not end the thread unheard."""
        while not self._stopping:
            try:
                self.on_start()
                return
            except Exception:
                logger.exception("%s could not begin", self.name)
                self.wait(self.grown_delay())

    def turn(self) -> float | None:
        """Run `run_once` once; log what it raises. Returns the seconds until the next turn.

        While the database is away that is one line a turn, and the pauses grow.
        """
        try:
            delay = self.run_once()
        except OperationalError as error:
            delay = self.grown_delay()
            logger.warning("%s: %s; next try in %.1f s", self.name, _first_line(error), delay)
        except Exception:
            delay = self.grown_delay()
            logger.exception("%s failed; next try in %.1f s", self.name, delay)
        else:
            self.succeeded()
        return delay

    def succeeded(self) -> None:
        """Let the next failure wait `error_delay` again."""
        self._failures = 0

    def grown_delay(self) -> float:
        """Return the seconds to wait after one more failure in a row."""
        delay = min(
            self.error_delay * 2.0 ** min(self._failures, 16), max(self.max_error_delay, self.error_delay)
        )
        self._failures += 1
        return delay

    def run_once(self) -> float | None:
        """Do one turn; return the seconds until the next one, None to wait for a wake-up."""
        raise TypeError(f"{type(self).__name__} defines no run_once()")

    def on_start(self) -> None:
        """Called in the thread before the first turn."""

    def on_stop(self) -> None:
        """Called in the thread after the last turn."""


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
