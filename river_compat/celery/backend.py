"""`app.backend`: results without a result store. What Celery keeps in one stands in the tasks' own rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from river_compat.celery import result_storing, states
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.exceptions import TaskRevokedError, TimeoutError  # noqa: A004 - Celery's own
from river_compat.celery.pending import check_kept, check_visible
from river_compat.celery.refused_names import lacking
from river_compat.celery.remote_names import REVOKED
from river_compat.celery.result_rows import Rows, Wanted, find_rows
from river_compat.celery.result_tuples import result_from_tuple
from river_compat.celery.retention import kept_results, seconds_kept
from river_compat.celery.row_meta import Meta, meta_of, revoked_before
from river_compat.celery.ways_out import BACKEND, INTERNAL
from river_compat.expired import delete_expired
from river_core import task_rows
from river_core.standing import MAX_KEY_CHARACTERS, StandingRows

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.async_result import AsyncResult
    from river_compat.celery.request import Context


@lacking(
    BACKEND,
    "add_pending_result add_to_chord chord_error_from_stack current_task_children decode decode_result "
    "encode encode_result exception_to_python fallback_chord_unlock get_group_meta iter_native "
    "meta_from_decoded on_chord_part_return on_task_call prepare_exception prepare_expires "
    "prepare_persistent prepare_value reload_group_result remove_pending_result set_chord_size "
    "wait_for wait_for_pending",
)
@lacking(
    INTERNAL,
    "ensure_chords_allowed exception_safe_to_retry on_backend_retryable_error prepare_compression "
    "retry_policy subpolling_interval supports_failure_expires supports_result_compression",
)
class RowBackend:
    """Reads and writes what an application's rows say about its tasks."""

    READY_STATES = states.READY_STATES
    UNREADY_STATES = states.UNREADY_STATES
    EXCEPTION_STATES = states.EXCEPTION_STATES
    TimeoutError = TimeoutError
    persistent = True
    is_async = True
    supports_native_join = True
    supports_autoexpire = True

    def __init__(self, app: Celery) -> None:
        """Belong to `app`; nothing connects here."""
        self.app = app

    # -- reading

    def find(self, task_id: str) -> Rows | None:
        """Return the rows of a task; raises kombu's OperationalError."""
        return find_rows(self.app.runtime.driver, [Wanted(task_id)])[0]

    def read_many(self, results: Sequence[AsyncResult[Any]]) -> Iterator[tuple[AsyncResult[Any], Meta]]:
        """Read what is known of many tasks at once, and let each handle note it.

        Raises kombu's OperationalError, and what `meta_of` raises.
        """
        found = self._found([result.wanted() for result in results])
        for result, (rows, revoked) in zip(results, found, strict=True):
            yield result, result.note(rows, revoked or meta_of(self.app, result.id, rows))

    def look(
        self, results: Sequence[AsyncResult[Any]]
    ) -> Iterator[tuple[AsyncResult[Any], BaseException | None]]:
        """Give the tasks that have ended, and those for which waiting is in vain, with the reason."""
        found = self._found([result.wanted() for result in results])
        for result, (rows, revoked) in zip(results, found, strict=True):
            try:
                if rows is None:
                    check_visible(result.id, result.joined)
                    check_kept(result.id, result.awaited_row)
                meta = result.note(rows, revoked or meta_of(self.app, result.id, rows))
            except Exception as error:  # noqa: BLE001 - a row that cannot be read fails its own waiters only
                yield result, error
                continue
            if meta["status"] in states.READY_STATES:
                yield result, None

    def get_task_meta(self, task_id: str, cache: bool = True) -> Meta:
        """Return state, result, traceback and facts of a task by its id; PENDING for an unknown one.

        An id that was revoked before anybody sent it is REVOKED, as long as that is remembered.
        """
        [(rows, revoked)] = self._found([Wanted(task_id)])
        return revoked or meta_of(self.app, task_id, rows)

    def _found(self, wanted: Sequence[Wanted]) -> list[tuple[Rows | None, Meta | None]]:
        """Return the rows of each task, or the facts of one without any whose id was revoked before."""
        found = find_rows(self.app.runtime.driver, wanted)
        ids = [each.task_id for each in wanted]
        revoked = self._revoked_before([each for each, rows in zip(ids, found, strict=True) if rows is None])
        return [(rows, revoked.get(task_id)) for task_id, rows in zip(ids, found, strict=True)]

    def _revoked_before(self, task_ids: Iterable[str]) -> dict[str, Meta]:
        """Return the facts of those tasks whose ids were revoked, in one query for all."""
        unknown = {str(task_id): task_id for task_id in task_ids}
        if not unknown:
            return {}
        keys = [key for task_id in unknown if len(key := f"{REVOKED}{task_id}") <= MAX_KEY_CHARACTERS]
        rows = StandingRows(self.app.runtime.driver).get_many(keys)
        ids = [unknown[row.key.removeprefix(REVOKED)] for row in rows]
        return {task_id: revoked_before(task_id) for task_id in ids}

    def get_state(self, task_id: str) -> str:
        """Return the state of a task."""
        state: str = self.get_task_meta(task_id)["status"]
        return state

    get_status = get_state

    def get_result(self, task_id: str) -> Any:
        """Return the value, the exception, or the facts of a custom state."""
        return self.get_task_meta(task_id).get("result")

    def get_traceback(self, task_id: str) -> str | None:
        """Return the text of the traceback of a task that failed or is to be retried."""
        text: str | None = self.get_task_meta(task_id).get("traceback")
        return text

    def get_children(self, task_id: str) -> Any:
        """Return the results of the tasks that a task has sent."""
        return self.get_task_meta(task_id).get("children")

    def get_many(self, task_ids: Iterable[str], **kwargs: Any) -> Iterator[tuple[str, Meta]]:
        """Give id and facts of those tasks that have ended, read in one query."""
        ids = list(task_ids)
        found = self._found([Wanted(task_id) for task_id in ids])
        for task_id, (rows, revoked) in zip(ids, found, strict=True):
            meta = revoked or meta_of(self.app, task_id, rows)
            if meta["status"] in states.READY_STATES:
                yield task_id, meta

    def task_result_exists(self, task_id: str) -> bool:
        """Whether a task is known: waiting, running or finished and not forgotten."""
        return self.knows(Wanted(task_id))

    def knows(self, wanted: Wanted) -> bool:
        """Whether there is a row of a task."""
        return find_rows(self.app.runtime.driver, [wanted])[0] is not None

    # -- writing

    def apply_chord(
        self, header_result_args: Any, body: Any, send: Callable[[], None], **options: Any
    ) -> None:
        """Send a chord, header and body in one transaction; a subclass may look at it first."""
        send()

    def store_result(
        self, task_id: str, result: Any, state: str, traceback: Any = None, request: Any = None, **kwargs: Any
    ) -> Any:
        """Store state and result of a task by hand, at once; nothing changes a task that has succeeded.

        A task without a row gets a finished one. Raises kombu's EncodeError and OperationalError.
        """
        of_this = request is not None and getattr(request, "id", None) == task_id
        row_id = getattr(request, "river_job_id", None) if of_this else None
        trace = None if traceback is None else str(traceback)
        result_storing.store(self.app, task_id, state, result, trace, request, row_id)
        return result

    def store_state(self, task_id: str | None, state: str | None, meta: Any, request: Context) -> None:
        """Store what a running task reports, at once, whatever its transaction does.

        Nothing under eager execution. Raises kombu's EncodeError for facts that are no JSON.
        """
        if request.is_eager or task_id is None:
            return
        row_id = request.get("river_job_id") if task_id == request.id else None
        result_storing.store(self.app, task_id, state or states.PENDING, meta, None, None, row_id)

    def mark_as_started(self, task_id: str, **meta: Any) -> Any:
        """Store STARTED with facts."""
        return self.store_result(task_id, meta, states.STARTED)

    def mark_as_done(
        self,
        task_id: str,
        result: Any,
        request: Any = None,
        store_result: bool = True,
        state: str = states.SUCCESS,
    ) -> None:
        """Store success."""
        if store_result and not (request is not None and request.ignore_result):
            self.store_result(task_id, result, state, request=request)

    def mark_as_failure(
        self,
        task_id: str,
        exc: BaseException,
        traceback: Any = None,
        request: Any = None,
        store_result: bool = True,
        call_errbacks: bool = True,
        state: str = states.FAILURE,
    ) -> None:
        """Store a failure. Nothing that is linked to the task is called: its own end does that."""
        if store_result:
            self.store_result(task_id, exc, state, traceback=traceback, request=request)

    def mark_as_retry(
        self,
        task_id: str,
        exc: BaseException,
        traceback: Any = None,
        request: Any = None,
        store_result: bool = True,
        state: str = states.RETRY,
    ) -> None:
        """Store that a task will run again."""
        if store_result:
            self.store_result(task_id, exc, state, traceback=traceback, request=request)

    def mark_as_revoked(
        self,
        task_id: str,
        reason: str = "",
        request: Any = None,
        store_result: bool = True,
        state: str = states.REVOKED,
    ) -> None:
        """Store that a task was revoked."""
        if store_result:
            self.store_result(task_id, TaskRevokedError(reason), state, request=request)

    def fail_from_current_stack(self, task_id: str, exc: BaseException | None = None) -> ExceptionInfo | None:
        """Store the exception that is being handled, or `exc`, as the task's failure."""
        error = exc or sys.exc_info()[1]
        if error is None:
            return None
        info = ExceptionInfo(error)
        self.mark_as_failure(task_id, error, info.traceback)
        return info

    # -- groups

    def save_group(self, group_id: str, result: Any) -> Any:
        """Keep a group result under its id, for as long as results are kept."""
        seconds = seconds_kept(self.app.conf.result_expires)
        StandingRows(self.app.runtime.driver).put(
            _group_key(group_id), json.dumps(result.as_tuple()), seconds
        )
        return result

    def restore_group(self, group_id: str, cache: bool = True) -> Any:
        """Return a group result that was saved, None for an unknown id."""
        row = StandingRows(self.app.runtime.driver).get(_group_key(group_id))
        return None if row is None else result_from_tuple(json.loads(row.value), self.app)

    def delete_group(self, group_id: str) -> None:
        """Forget a group result that was saved."""
        rows = StandingRows(self.app.runtime.driver)
        row = rows.get(_group_key(group_id))
        if row is not None:
            rows.delete([row.id])

    def forget(self, task_id: str) -> None:
        """Delete the finished rows of a task."""
        task_rows.delete_finished(self.app.runtime.driver, task_id)

    def reload_task_result(self, task_id: str) -> None:
        """Do nothing: nothing is kept between two reads."""

    def cleanup(self) -> None:
        """Delete the results that have expired, as workers do all the time; raises DatabaseError."""
        delete_expired(self.app.runtime.driver, kept_results(self.app.conf))

    def process_cleanup(self) -> None:
        """Do nothing: connections of this process close with it."""

    def is_cached(self, task_id: str) -> bool:
        """Return False: nothing is kept between two reads."""
        return False

    def as_uri(self, include_password: bool = False) -> str:
        """Return the database's URL, without its password unless asked for."""
        from river_compat.celery.app.database import database_url

        url = database_url(self.app.conf)
        if include_password or "@" not in url:
            return url
        scheme, _, rest = url.partition("://")
        credentials, _, place = rest.rpartition("@")
        return f"{scheme}://{credentials.partition(':')[0]}:**@{place}"


def _group_key(group_id: str) -> str:
    return f"celery:group:{group_id}"
