"""Statements that list jobs or delete many, by filters (River: JobList, JobDeleteMany)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from river_core.db.statement import Dialect, Parameter, Sql, Statement
from river_core.job import JobState
from river_core.job_list import JobDeleteManyParams, JobFilters, JobListParams


def job_list(sql: Sql, params: JobListParams, *, contained: bool = False) -> Statement:
    """List jobs; planned each time, because the best way to them depends on which filters are given.

    SQLite, which keeps no statistics, goes by id where no states are named, else by an index of states.
    With `contained` Postgres asks, as Go does, whether the metadata contain the filter.
    """
    time, after_id = params.place
    by_id = params.order_by == "id" and (bool(params.ids) or not params.states)
    common = {**_filters(sql, params), "after_id": after_id, "limit": params.limit}
    if contained and sql.dialect is Dialect.POSTGRES:
        common |= {"metadata": None, "metadata_contained": common["metadata"]}
    if by_id:
        statement = sql.statement(f"job_list_by_id_{params.direction}", **common)
    else:
        statement = sql.statement(
            f"job_list_{params.direction}",
            **{**common, "states": sql.array(str(state) for state in params.states or JobState)},
            sort_column=params.sort_column,
            after_time=sql.time(time),
        )
    return replace(statement, prepared=False)


def job_delete_many(sql: Sql, params: JobDeleteManyParams) -> Statement:
    """Delete jobs that do not run, those of the lowest ids first."""
    statement = sql.statement("job_delete_many", **_filters(sql, params), limit=params.limit)
    return replace(statement, prepared=False)


def _filters(sql: Sql, filters: JobFilters) -> dict[str, Parameter]:
    def array(values: Iterable[str | int]) -> str | None:
        distinct = sorted(set(values))
        return sql.array(distinct) if distinct else None

    return {
        "ids": array(filters.ids),
        "kinds": array(filters.kinds),
        "priorities": array(filters.priorities),
        "queues": array(filters.queues),
        "states": array(str(state) for state in filters.states),
        "tags_any": array(filters.tags_any),
        "tags_all": array(filters.tags_all),
        "metadata": filters.encoded_metadata,
        "metadata_contained": None,
    }
