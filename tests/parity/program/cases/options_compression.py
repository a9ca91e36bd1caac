"""Bodies are compressed as the task or the call says, by kombu's methods. Rows 2.11, 3.12."""

from celery import shared_task

from ..observation import outcome, raised

LONG = "all work and no play " * 500


@shared_task(bind=True)
def plain(self, text, number=0):
    return [len(text), number, getattr(self.request, "compression", None)]


@shared_task(bind=True, compression="bzip2")
def packed(self, text, number=0):
    return [len(text), number, getattr(self.request, "compression", None), self.request.headers]


@shared_task(bind=True, compression="gzip", serializer="msgpack", max_retries=1, default_retry_delay=0)
def binary(self, data):
    if self.request.retries == 0:
        raise self.retry()
    return [repr(data[:4]), len(data), self.request.compression]


def observe():
    return {
        "none": outcome(plain.delay(LONG)),
        "task": outcome(packed.delay(LONG, number=1)),
        "call": [outcome(plain.apply_async((LONG,), compression=name)) for name in ("gzip", "zlib", "lzma")],
        "call_wins": outcome(packed.apply_async((LONG,), compression="application/x-gzip")),
        "none_is_the_setting": outcome(packed.apply_async((LONG,), compression=None)),
        "binary": outcome(binary.delay(b"\xff\x00\xfe" * 1000)),
        "chain": outcome((plain.s("ab").set(compression="gzip") | packed.s()).delay()),
        "unknown": "error" in raised(plain.apply_async, ("",), compression="no-such-method"),
    }
