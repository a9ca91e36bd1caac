"""river_compat.celery on Postgres.  The settings of our package, and
the tests that it is not asked to pass."""
import os
import tempfile

from . import Base

DSN = os.environ.get('PEER_DATABASE_URL', 'postgresql://postgres@127.0.0.1:5432/peer_celery')


#: unit tests need no server: a file that does not exist before its first use
UNIT = 'sqlite:///' + os.path.join(tempfile.mkdtemp(prefix='peer-river-'), 'river.sqlite3')


class Profile(Base):
    #: tests that river_compat.celery fails on purpose -> the reason, one line each
    exclude = {}

    def unit_config(self):
        return {'broker_url': os.environ.get('PEER_UNIT_BROKER', UNIT),
                'task_default_queue': 'testcelery',
                'accept_content': ('json', 'pickle'),
                'enable_utc': True, 'timezone': 'UTC'}

    def integration_config(self):
        return {'broker_url': DSN, 'result_backend': DSN, 'result_extended': True}
