"""What comes with the message: links, the rest of a chain, stamps, headers, ids of replies. Row 4.5."""

from celery import chain, shared_task

from ..observation import WAIT

REPLY_TO = "parity-reply"


@shared_task(bind=True)
def read(self, *args):
    request = self.request
    return {
        "callbacks": names(request.callbacks),
        "errbacks": names(request.errbacks),
        "chain": names(request.chain),
        "chord": request.chord,
        "nesting": request.replaced_task_nesting,
        "headers": request.headers,
        "stamps": request.stamps,
        "stamped_headers": request.stamped_headers,
        "reply_to": request.reply_to,
        "correlation": request.correlation_id == request.id,
        "ignore_result": request.ignore_result,
        "properties": sorted(set(request.properties or ()) & {"correlation_id", "app_id"}),
    }


@shared_task
def after(*args):
    return len(args)


@shared_task(bind=True, ignore_result=True)
def told(self):
    return self.request.ignore_result


@shared_task(bind=True)
def nested(self, depth):
    if depth:
        return self.replace(nested.s(depth - 1))
    return self.request.replaced_task_nesting


def names(signatures):
    return None if signatures is None else [dict(sig)["task"].rpartition(".")[2] for sig in signatures]


def value(result):
    seen = result.get(timeout=WAIT)
    if isinstance(seen, dict):
        seen["reply_to"] = seen["reply_to"] == REPLY_TO
    return seen


def observe():
    steps = chain(read.s(), after.s(1), nested.si(0)).apply_async()
    stamped = read.s()
    stamped.stamp(tenant="acme")
    return {
        "plain": value(read.delay()),
        "links": value(read.apply_async(link=[after.si(), after.si(1)], link_error=after.si(2))),
        "chain": value(steps.parent.parent),
        "headers": value(read.apply_async(headers={"tenant": "acme", "number": 1})),
        "reply": value(read.apply_async(reply_to=REPLY_TO)),
        "stamped": value(stamped.apply_async()),
        "nesting": value(nested.delay(2)),
    }
