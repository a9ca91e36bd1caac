"""Which arguments come with the signals of runs. Rows 13.5, 13.6."""

from celery import shared_task, signals

from ..observation import new_id, note, notes, shown, until

NAME = "parity.signals_arguments.act"
TOLD = ("task_prerun", "task_postrun", "task_success", "task_failure", "task_retry")


@shared_task(bind=True, name=NAME, default_retry_delay=2)
def act(self, key, how):
    if how == "fail":
        raise LookupError(how)
    if how == "retry" and not self.request.retries:
        self.retry(exc=KeyError(how))
    return how


def heard(name):
    def receiver(sender=None, signal=None, **kwargs):
        if sender.name != NAME:
            return
        facts = {"signal": name, "names": sorted(kwargs), "same": signal is getattr(signals, name)}
        for word in ("state", "retval", "result", "exception"):
            if word in kwargs:
                facts[word] = shown(kwargs[word])
        if "task_id" in kwargs:
            facts["id"] = kwargs["task_id"] == sender.request.id
        if name == "task_retry":
            facts |= {"reason": shown(kwargs["reason"].exc), "request": kwargs["request"].kwargs["how"]}
        if name == "task_success":
            facts["runtime"] = 0 <= kwargs["runtime"] < 20
        if name == "task_failure":
            facts["einfo"] = [kwargs["einfo"].type.__name__, kwargs["traceback"] is not None]
        note(sender.request.kwargs["key"], facts)

    getattr(signals, name).connect(receiver, weak=False)


for each in TOLD:
    heard(each)


def observed(how, count):
    key = new_id()
    act.delay(key=key, how=how)
    until(lambda: notes(key), lambda seen: len(seen) >= count)
    seen = notes(key)
    for line in seen:
        if how == "retry" and line["signal"] == "task_postrun" and line["state"] == "'RETRY'":
            line["retval"] = "a Retry"
    return seen


def observe():
    return {how: observed(how, count) for how, count in (("return", 3), ("fail", 3), ("retry", 6))}
