"""A chord over tasks that ignore their results runs its body all the same. Row 8.8."""

from celery import chord, group, shared_task

from ..observation import outcome


@shared_task(ignore_result=True)
def quiet(number):
    return number


@shared_task
def gathered(values):
    return values


def observe():
    header = [quiet.s(number) for number in range(3)]
    mixed = chord([quiet.s(1), gathered.s([2])])(gathered.s())
    plain, piped = chord(header)(gathered.s()), (group(header) | gathered.s())()
    return {"chord": outcome(plain), "group": outcome(piped), "mixed": outcome(mixed)}
