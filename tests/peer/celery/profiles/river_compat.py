"""river_compat.celery on Postgres.  The settings of our package, and
the tests that it is not asked to pass."""
import os

from . import Base

DSN = os.environ.get('PEER_DATABASE_URL', 'postgresql://postgres@127.0.0.1:5432/peer_celery')

#: unit tests need no server: a temporary SQLite file with River's tables
UNIT = 'memory://'

RETURNS_A_HANDLE = ('asserts that None is returned; here the handle of the task is, whose id is known '
                    'before the commit')


PROTOCOL_1 = 'task_protocol = 1 is refused'
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
        'test_consecutive_groups_in_chain_preserve_group_results_in_as_tuple[1]': PROTOCOL_1,
        'test_groups_in_chain_as_tuple_holds_each_task_once[None-apply_async-1]': PROTOCOL_1,
        'test_groups_in_chain_as_tuple_holds_each_task_once[None-freeze-1]': PROTOCOL_1,
        'test_groups_in_chain_as_tuple_holds_each_task_once[last-task-id-apply_async-1]': PROTOCOL_1,
        'test_groups_in_chain_as_tuple_holds_each_task_once[last-task-id-freeze-1]': PROTOCOL_1,
        'test_group_before_chord_in_chain_as_tuple_holds_each_task_once[1]': PROTOCOL_1,
        'test_group_ending_a_chain_in_a_group_gets_its_own_id[1]': PROTOCOL_1,
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
        # the suite's priorities are those of a Redis broker: 0 first
        return {'broker_url': DSN, 'result_backend': DSN, 'result_extended': True,
                'task_priority_scheme': 'redis'}
