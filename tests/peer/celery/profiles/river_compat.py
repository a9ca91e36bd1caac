"""river_compat.celery on Postgres.  The settings of our package, and
the tests that it is not asked to pass."""
import contextlib
import os
import tempfile

from river_core.drivers import open_driver
from river_core.migrate import Migrator

from . import Base

DSN = os.environ.get('PEER_DATABASE_URL', 'postgresql://postgres@127.0.0.1:5432/peer_celery')


#: unit tests need no server: a file that does not exist before its first use
UNIT = 'sqlite:///' + os.path.join(tempfile.mkdtemp(prefix='peer-river-'), 'river.sqlite3')
_MIGRATED = set()


class Profile(Base):
    #: tests that river_compat.celery fails on purpose -> the reason, one line each
    exclude = {}

    def unit_config(self):
        if UNIT not in _MIGRATED:
            _MIGRATED.add(UNIT)
            with contextlib.closing(open_driver(UNIT)) as driver:
                Migrator(driver).migrate_up()
        return {'broker_url': os.environ.get('PEER_UNIT_BROKER', UNIT),
                'task_default_queue': 'testcelery',
                'accept_content': ('json', 'pickle'),
                'enable_utc': True, 'timezone': 'UTC'}

    def integration_config(self):
        return {'broker_url': DSN, 'result_backend': DSN, 'result_extended': True}
