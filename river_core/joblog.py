"""Keeps what a task logs in its own row, one entry for each attempt (River: riverlog).

`PersistedLogs` is a plugin: it gives `job.logger`, and stores the text with whatever outcome the
attempt has.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOBase
from typing import Any

from river_core.encoding import encode_json
from river_core.errors import ConfigurationError
from river_core.outcome import Outcome
from river_core.plugins import AwaitedWorkOperation, Plugin, WorkOperation
from river_core.task import Job

LOG_KEY = "river:log"
MAX_SIZE_BYTES = 2_097_152
MAX_TOTAL_BYTES = 8_388_608
MAX_TOTAL_BYTES_LIMIT = 67_108_864
FORMAT = "%(asctime)s %(levelname)s %(message)s"

logger = logging.getLogger(__name__)


class LogWriter(TextIOBase):
    """Takes the text of one attempt up to a limit; usable from any thread, and deaf after its end."""

    def __init__(self, max_bytes: int) -> None:
        """Keep at most `max_bytes` of UTF-8."""
        super().__init__()
        self._left = max_bytes
        self._parts: list[str] = []
        self._ended = False
        self._truncated = False
        self._lock = threading.Lock()

    @property
    def truncated(self) -> bool:
        """Whether text was dropped for its length."""
        return self._truncated

    def writable(self) -> bool:
        """Return True: this is a stream to write to."""
        return True

    def write(self, text: str) -> int:
        """Take text without its NULs and lone surrogates; what is beyond the limit is dropped."""
        data = text.replace("\x00", "").encode("utf-8", "ignore")
        with self._lock:
            if not self._ended:
                self._take(data)
        return len(text)

    def _take(self, data: bytes) -> None:
        if len(data) > self._left:
            self._truncated = True
            data = data[: self._left].decode("utf-8", "ignore").encode()
            self._left = 0
        else:
            self._left -= len(data)
        self._parts.append(data.decode())

    def end(self) -> str:
        """Return what was written; what comes later is ignored."""
        with self._lock:
            self._ended = True
            return "".join(self._parts)


LoggerFactory = Callable[[LogWriter], logging.Logger]


class PersistedLogs(Plugin):
    """Gives each job a `job.logger` whose lines end up in its metadata under `river:log`."""

    def __init__(
        self,
        *,
        max_size_bytes: int = MAX_SIZE_BYTES,
        max_total_bytes: int = MAX_TOTAL_BYTES,
        level: int = logging.INFO,
        logger_factory: LoggerFactory | None = None,
    ) -> None:
        """Keep `max_size_bytes` of an attempt and, dropping the oldest, `max_total_bytes` of a job.

        `logger_factory` makes a logger of another kind from the writer. Raises ConfigurationError for
        limits that are not positive whole numbers, and for a total above 64 MiB.
        """
        self._max_size = _limit("max_size_bytes", max_size_bytes)
        self._max_total = _limit("max_total_bytes", max_total_bytes)
        if max_total_bytes > MAX_TOTAL_BYTES_LIMIT:
            raise ConfigurationError(f"max_total_bytes must be at most {MAX_TOTAL_BYTES_LIMIT}")
        self._level = level
        self._make_logger = logger_factory or self._text_logger

    def work(self, job: Job, operation: WorkOperation) -> Outcome | None:
        """Give the job its logger, and keep what it took, however the attempt ends."""
        with self._logged(job):
            return operation()

    async def work_awaited(self, job: Job, operation: AwaitedWorkOperation) -> Outcome | None:
        """Do the same around a coroutine."""
        with self._logged(job):
            return await operation()

    @contextmanager
    def _logged(self, job: Job) -> Iterator[None]:
        writer = LogWriter(self._max_size)
        job.use_powers().logger = self._make_logger(writer)
        try:
            yield
        finally:
            self._keep(job, writer)

    def _text_logger(self, writer: LogWriter) -> logging.Logger:
        handler = logging.StreamHandler(writer)
        handler.setFormatter(logging.Formatter(FORMAT))
        own = logging.Logger(LOG_KEY, self._level)  # no registered one: it goes with its job
        own.addHandler(handler)
        return own

    def _keep(self, job: Job, writer: LogWriter) -> None:
        text, extra = writer.end(), {"job_id": job.row.id, "kind": job.row.kind}
        if writer.truncated:
            logger.warning("the log of a job was cut to %d bytes", self._max_size, extra=extra)
        if not text:
            return
        older = job.row.metadata.get(LOG_KEY, [])
        if not isinstance(older, list):
            logger.error("%s of a job is no array; nothing is stored in it", LOG_KEY, extra=extra)
            return
        kept = newest(older, {"attempt": job.row.attempt, "log": text}, self._max_total)
        if len(kept) <= len(older):
            logger.warning("old logs of a job were dropped for their size", extra=extra)
        job.keep_metadata({LOG_KEY: kept})


def newest(older: list[Any], entry: dict[str, Any], max_bytes: int) -> list[Any]:
    """Return the entry behind as many of the newest older ones as fit into `max_bytes` of JSON."""
    size = len("[]") + _size(entry)
    first = len(older)
    while first > 0 and size + len(",") + _size(older[first - 1]) <= max_bytes:
        first -= 1
        size += len(",") + _size(older[first])
    return [*older[first:], entry]


def _size(element: Any) -> int:
    try:
        return len(encode_json(element).encode())
    except ValueError:  # numbers that Python has no value for
        return len(json.dumps(element))


def _limit(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{name} must be a positive whole number, not {value!r}")
    return value
