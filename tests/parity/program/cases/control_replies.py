"""Rows 10.4, 12.7. Replies are lists of {worker: reply}, answers of inspect are one mapping."""

from celery import current_app, shared_task


@shared_task
def limited():
    return None


def observe():
    control = current_app.control
    inspect = control.inspect()
    ask = {"reply": True, "timeout": 2}
    return {
        "ping": control.ping(timeout=2),
        "nobody": [
            control.ping(destination=["nobody@x"], timeout=0.5),
            control.inspect(["nobody@x"], 0.5).ping(),
        ],
        "inspect ping": inspect.ping(),
        "rate limit": control.rate_limit(limited.name, "1000/s", **ask),
        "no rate limit": control.rate_limit(limited.name, 0, **ask),
        "unknown task": control.rate_limit("unknown.task", "1/s", **ask),
        "time limits": control.time_limit(limited.name, soft=50, hard=60, **ask),
        "time limits of an unknown task": control.time_limit("unknown.task", soft=1, **ask),
        "shape of clock": [sorted(answer) for answer in (inspect.clock() or {}).values()],
        "query of an unknown task": list((inspect.query_task("unknown") or {}).values()),
        "nothing reserved": list((inspect.reserved() or {}).values()),
    }
