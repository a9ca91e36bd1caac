"""The application on Celery and the Redis of COMPARE_REDIS_URL, with the settings that suit it best here.

No rate limits, no task events, connections that are kept; the workers run without gossip, mingle and
heartbeat. Messages are acknowledged early, Celery's default and its fastest way.
"""

import os

from celery import Celery

from benchmarks.compare.tasks import define

url = os.environ["COMPARE_REDIS_URL"]
app = Celery("benchmarks.compare.theirs", broker=url, backend=url)
app.conf.update(
    broker_connection_retry_on_startup=True,
    broker_pool_limit=10,
    redis_max_connections=100,
    task_publish_retry=False,
    worker_disable_rate_limits=True,
    worker_prefetch_multiplier=int(os.environ.get("COMPARE_PREFETCH", "64")),
    worker_send_task_events=False,
    task_send_sent_event=False,
)
tasks = define(app)
