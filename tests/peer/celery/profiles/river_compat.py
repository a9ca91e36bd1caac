"""river_compat.celery on Postgres.  The settings of our package, and
the tests that it is not asked to pass."""
import os

from . import Base

DSN = os.environ.get('PEER_DATABASE_URL', 'postgresql://postgres@127.0.0.1:5432/peer_celery')

#: unit tests need no server: a temporary SQLite file with River's tables
UNIT = 'memory://'

RETURNS_A_HANDLE = ('asserts that None is returned; here the handle of the task is, whose id is known '
                    'before the commit')


class Profile(Base):
    #: tests that river_compat.celery fails on purpose -> the reason, one line each
    exclude = {
        'test_DjangoTask::test_delay_on_commit': RETURNS_A_HANDLE,
        'test_DjangoTask::test_apply_async_on_commit': RETURNS_A_HANDLE,
    }

    def unit_config(self):
        return {'broker_url': os.environ.get('PEER_UNIT_BROKER', UNIT),
                'result_backend': 'cache+memory://',
                'task_default_queue': 'testcelery',
                'accept_content': ('json', 'pickle'),
                'enable_utc': True, 'timezone': 'UTC'}

    def integration_config(self):
        return {'broker_url': DSN, 'result_backend': DSN, 'result_extended': True}
