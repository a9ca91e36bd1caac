"""`bind` gives the task as first argument, everywhere it runs. Row 2.1."""

from celery import shared_task

from ..observation import outcome


@shared_task(bind=True, own_attribute=5)
def bound(self, x):
    return [self.name.rpartition(".")[2], self.own_attribute, x, self.request.called_directly]


@shared_task
def unbound(x):
    return x


@shared_task(bind=False)
def takes_self(self, x):
    return [self, x]


def observe():
    return {
        "bound": outcome(bound.delay(1)),
        "unbound": outcome(unbound.delay(2)),
        "only_a_name": outcome(takes_self.delay("self", 3)),
        "called": [bound(1), unbound(2), takes_self(4, 5)],
        "applied": bound.apply((1,)).get(),
        "run": bound.run(1),
    }
