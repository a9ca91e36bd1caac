"""The scheduler of django-celery-beat: entries of its tables and of the settings, and edits. Row 18.5."""

from ..own import project

SETTINGS = """
import os

SECRET_KEY = "for tests"
INSTALLED_APPS = ["django.contrib.contenttypes", "django_celery_beat"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.sqlite3"}}
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CELERY_BROKER_URL = os.environ["PARITY_OWN_BROKER"]
CELERY_RESULT_BACKEND = os.environ.get("PARITY_OWN_BACKEND")
CELERY_TASK_DEFAULT_QUEUE = os.environ["PARITY_OWN_QUEUE"]
CELERY_BEAT_SCHEDULE = {"of the settings": {"task": "shop.set", "schedule": 3600.0, "args": [1]}}
"""
APP = """
import json
import os

from celery import Celery

os.environ["DJANGO_SETTINGS_MODULE"] = "conf"
app = Celery("shop")
app.config_from_object("django.conf:settings", namespace="CELERY")

import django
from django.core.management import call_command

django.setup()
call_command("migrate", verbosity=0)
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask, PeriodicTasks
from django_celery_beat.schedulers import DatabaseScheduler

hourly = IntervalSchedule.objects.create(every=1, period="hours")
nightly = CrontabSchedule.objects.create(minute="30", hour="4", timezone="Europe/Berlin")
PeriodicTask.objects.create(name="hourly", task="shop.hour", interval=hourly, args='["a"]', kwargs='{"k": 1}',
                            queue="q", expire_seconds=50)
PeriodicTask.objects.create(name="nightly", task="shop.night", crontab=nightly)
PeriodicTask.objects.create(name="off", task="shop.off", interval=hourly, enabled=False)
long_ago = timezone.now() - timezone.timedelta(days=2)
PeriodicTask.objects.create(name="due", task="shop.due", interval=hourly, last_run_at=long_ago, one_off=True)


def shown(entry):
    options = {name: value for name, value in sorted(entry.options.items()) if value and name != "headers"}
    return [entry.task, list(entry.args), entry.kwargs, repr(entry.schedule).split(" (")[0], options]


def names():
    return sorted(name for name in scheduler.schedule if not name.startswith("celery."))


sent = []


class Telling(DatabaseScheduler):
    def send_task(self, *args, **kwargs):
        sent.append([args[0], list(args[1] or ()), args[2]])


scheduler = Telling(app=app, lazy=False)
before = {name: shown(scheduler.schedule[name]) for name in names()}
for _ in range(3):
    scheduler.tick()
scheduler.sync()
runs = PeriodicTask.objects.get(name="due").total_run_count
task = PeriodicTask.objects.get(name="hourly")
task.args = '["changed"]'
task.save()
PeriodicTask.objects.filter(name="nightly").delete()
PeriodicTasks.update_changed()
after = {name: shown(scheduler.schedule[name])[1] for name in names()}
print("SEEN", json.dumps({"before": before, "sent": sent, "runs": runs, "after": after}))
"""


def observe():
    with project(conf=SETTINGS, own=APP) as own:
        own.alias()
        return own.start("own.py", env={"DJANGO_SETTINGS_MODULE": "conf"}).seen()
