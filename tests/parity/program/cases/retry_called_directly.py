"""Outside a worker self.retry raises the exception and sends nothing. Row 5.3."""

from celery import shared_task

from ..observation import raised


@shared_task(bind=True)
def with_exception(self):
    raise self.retry(exc=ValueError("direct"), countdown=0)


@shared_task(bind=True)
def while_handling(self):
    try:
        {}["missing"]
    except KeyError:
        self.retry(countdown=0)


@shared_task(bind=True)
def bare(self):
    raise self.retry(countdown=0)


def observe():
    return {
        "with_exception": raised(with_exception),
        "while_handling": raised(while_handling),
        "bare": raised(bare)["error"],
    }
