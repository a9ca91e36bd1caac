"""river_compat.celery on Postgres.  The settings of our package, and
the tests that it is not asked to pass."""
import os

from . import Base

DSN = os.environ.get('PEER_DATABASE_URL', 'postgresql://postgres@127.0.0.1:5432/peer_celery')

#: what a Celery project has as its result store
LEFT_BEHIND = 'redis://%s:%s/0' % (os.environ.get('REDIS_HOST', '127.0.0.1'),
                                   os.environ.get('REDIS_PORT', '6379'))

#: unit tests need no server: a temporary SQLite file with River's tables
UNIT = 'memory://'

RETURNS_A_HANDLE = ('asserts that None is returned; here the handle of the task is, whose id is known '
                    'before the commit')


NO_BROKER = 'asks for a broker: its transport, a producer of its own'
ONE_INSERT = 'the mock counts calls of apply_async; header and body are one insert here'


class Profile(Base):
    #: tests that river_compat.celery fails on purpose -> the reason, one line each
    exclude = {
        'test_BeatPidbox::test_fanout_support_on_a_real_transport': NO_BROKER,
        'test_BeatPidbox::test_giving_up_says_the_same_thing_however_it_failed': NO_BROKER,
        'test_SchedulerShutdown::test_base_publishing_resources_recreated_after_close': NO_BROKER,
        'test_DjangoTask::test_delay_on_commit': RETURNS_A_HANDLE,
        'test_DjangoTask::test_apply_async_on_commit': RETURNS_A_HANDLE,
        'test_group_or_task_apply_async_countdown_delays_header': ONE_INSERT,
        'test_group_or_task_apply_async_eta_delays_header': ONE_INSERT,
    }

    def unit_config(self):
        return {'broker_url': os.environ.get('PEER_UNIT_BROKER', UNIT),
                'result_backend': 'cache+memory://',
                'task_default_queue': 'testcelery',
                'accept_content': ('json', 'pickle'),
                'enable_utc': True, 'timezone': 'UTC'}

    def integration_config(self):
        # A Redis result store left in the settings, as in a project that moves: it is warned about and not
        # used, and tests that ask whether there is one are run. The priorities are those of a Redis broker.
        return {'broker_url': DSN, 'result_backend': LEFT_BEHIND, 'result_extended': True,
                'task_priority_scheme': 'redis',
                # test_chord::test_generator wants the first parts to run while the last are being made
                'river_stream_chords': True}
