"""A Django project: settings by namespace, tasks of installed apps, commits, tests, the schedule in tables.

Rows 18.1, 18.7.
"""

from ..observation import outcome, wait_for_notes
from ..own import project

SETTINGS = """
import os

SECRET_KEY = "for tests"
INSTALLED_APPS = ["django.contrib.contenttypes", "django_celery_beat", "shop"]
SITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.sqlite3", "CONN_MAX_AGE": None}
DATABASES = {"default": SITE}
USE_TZ = True
TIME_ZONE = "Europe/Berlin"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CELERY_BROKER_URL = os.environ["PARITY_OWN_BROKER"]
CELERY_RESULT_BACKEND = os.environ.get("PARITY_OWN_BACKEND")
CELERY_TASK_DEFAULT_QUEUE = os.environ["PARITY_OWN_QUEUE"]
CELERY_TASK_ALWAYS_EAGER = bool(os.environ.get("EAGER"))
CELERY_BEAT_MAX_LOOP_INTERVAL = 1
TASK_DEFAULT_QUEUE = "not of the namespace"
"""
APP = """
import os

from celery import Celery
from program import own

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conf.settings")
app = Celery("conf")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
"""
MODELS = """
from django.db import models


class Order(models.Model):
    paid = models.BooleanField(default=False)
"""
TASKS = """
import os

from celery import shared_task
from django.db import connection, transaction
from program.observation import note


@shared_task
def pay(order):
    from shop.models import Order

    return Order.objects.filter(pk=order).update(paid=True)


@shared_task
def facts():
    from django.conf import settings

    app = facts.app
    queue = app.conf.task_default_queue == settings.CELERY_TASK_DEFAULT_QUEUE
    return [queue, str(app.timezone), hasattr(facts, "delay_on_commit"), connection.vendor]


@shared_task
def leaves_open():
    from shop.models import Order

    transaction.set_autocommit(False)
    Order.objects.create()


@shared_task
def is_clean():
    from shop.models import Order

    return [connection.get_autocommit(), Order.objects.count()]


@shared_task
def tick(word):
    note(os.environ["PARITY_OWN_QUEUE"], word)
"""
TESTS = """
from django.test import TestCase
from shop.models import Order
from shop.tasks import pay


class Paying(TestCase):
    def test_pays(self):
        order = Order.objects.create()
        with self.captureOnCommitCallbacks(execute=True):
            pay.delay_on_commit(order.pk)
        order.refresh_from_db()
        assert order.paid

    def test_pays_at_once(self):
        order = Order.objects.create()
        assert pay.delay(order.pk).get() == 1
        order.refresh_from_db()
        assert order.paid

    def test_is_not_paid(self):
        order = Order.objects.create()
        assert order.paid
"""
BEGIN = """
import django
from django.core.management import call_command
from django.db import connection

django.setup()
call_command("migrate", run_syncdb=True, verbosity=0)
from django_celery_beat.models import IntervalSchedule, PeriodicTask
from shop.models import Order

Order.objects.create()
second = IntervalSchedule.objects.create(every=1, period="seconds")
tick = {"task": "shop.tasks.tick", "interval": second}
PeriodicTask.objects.create(name="tick", args='["table"]', **tick)
PeriodicTask.objects.create(name="off", args='["off"]', enabled=False, **tick)
"""
FILES = {
    "conf/__init__.py": "from conf.celery import app as celery_app\n",
    "conf/celery.py": APP,
    "conf/settings.py": SETTINGS,
    "shop/__init__.py": "",
    "shop/models.py": MODELS,
    "shop/tasks.py": TASKS,
    "shop/tests.py": TESTS,
}

SHOWN = ("Ran 3 tests", "failures=1", "test_is_not_paid")


def observe():
    env = {"DJANGO_SETTINGS_MODULE": "conf.settings"}
    with project() as own:
        own.alias()
        for path, text in FILES.items():
            own.write(path, text)
        begun = own.start("-c", "import conf\n" + BEGIN, env=env)
        assert begun.wait() == 0, begun.text()
        tests = own.start("-m", "django", "test", env={**env, "EAGER": "1"})
        options = ("-c", "1", "-B", "--scheduler", "django_celery_beat.schedulers:DatabaseScheduler")
        worker = own.worker(*options, module="conf", env=env)
        seen = {
            "facts": outcome(own.send("shop.tasks.facts")),
            "paid": outcome(own.send("shop.tasks.pay", 1)),
        }
        seen["open"] = [outcome(own.send(f"shop.tasks.{name}")) for name in ("leaves_open", "is_clean")]
        seen["table"] = sorted(set(wait_for_notes(own.queue, 2)))
        code = tests.wait()
        seen["tests"] = [code, [word in tests.text() for word in SHOWN]]
        return {**seen, "exit": worker.stop()}
