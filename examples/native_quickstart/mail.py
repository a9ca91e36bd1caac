"""River without Celery: a job, its task, and a worker.

python mail.py             work until SIGTERM or Ctrl-C
python mail.py send 7      insert a job
"""

import os
import sys
from dataclasses import dataclass
from typing import ClassVar

from river_core import (
    Client,
    Job,
    JobSnoozeError,
    Migrator,
    Registry,
    Task,
    Worker,
    WorkerConfig,
    open_driver,
    run_worker,
)


@dataclass
class SendMail:
    """The arguments; `kind` is what every language calls this job."""

    kind: ClassVar[str] = "send_mail"
    to: int


class SendMailTask(Task):
    """What a worker does for one of them."""

    kind = SendMail.kind

    def work(self, job: Job) -> None:
        """Send the mail, or wait a minute for a user who is not there yet."""
        if job.args["to"] > 1000:
            raise JobSnoozeError(60)
        print(f"mail to user {job.args['to']}, attempt {job.row.attempt}")
        job.record_output({"sent": True})


def main() -> int:
    """Insert, or work."""
    driver = open_driver(os.environ.get("DATABASE_URL", "sqlite:///river.sqlite3"))
    Migrator(driver).migrate_up()
    if sys.argv[1:2] == ["send"]:
        print(Client(driver).insert(SendMail(to=int(sys.argv[2]))).job)
        return 0
    tasks = Registry()
    tasks.add(SendMailTask())
    return run_worker(Worker(driver, tasks, WorkerConfig(queues={"default": 10})))


if __name__ == "__main__":
    sys.exit(main())
