"""A trigger that notes every end of a row, every start of a waiting one, and every change after an end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from river_core.db.statement import Statement
from river_core.drivers.base import Driver
from tests.acceptance.commands import query

NOTED = """
        (OLD.state <> NEW.state AND (NEW.finalized_at IS NOT NULL OR OLD.state = 'pending'))
        OR (OLD.finalized_at IS NOT NULL AND NEW.finalized_at IS NOT NULL AND OLD.metadata <> NEW.metadata)
"""
NOTE = """
        INSERT INTO workflow_audit VALUES (NEW.id, CASE
            WHEN OLD.state = 'pending' AND NEW.finalized_at IS NULL THEN 'started'
            WHEN OLD.finalized_at IS NULL THEN 'ended'
            ELSE 'changed'
        END);
"""
POSTGRES = (
    "CREATE TABLE workflow_audit (job_id bigint, what text)",
    f"""
    CREATE FUNCTION workflow_note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        {NOTE}
        RETURN NULL;
    END $$
    """,
    f"""
    CREATE TRIGGER workflow_note AFTER UPDATE ON river_job FOR EACH ROW WHEN (
        {NOTED}
    ) EXECUTE FUNCTION workflow_note()
    """,
)
SQLITE = (
    "CREATE TABLE workflow_audit (job_id integer, what text)",
    f"""
    CREATE TRIGGER workflow_note AFTER UPDATE ON river_job WHEN
        {NOTED}
    BEGIN
        {NOTE}
    END
    """,
)
SET_GOING = """
UPDATE river_job SET state = 'available' WHERE state = 'pending' AND id = (
    SELECT id FROM river_job WHERE state = 'pending' ORDER BY random() LIMIT 1
) RETURNING id
"""
UNFINISHED = "SELECT count(*) FROM river_job WHERE kind = 'python_task' AND finalized_at IS NULL"
LEFT = "SELECT id FROM river_job WHERE kind = 'python_task' AND finalized_at IS NULL ORDER BY id LIMIT 20"
SUMMARY = "SELECT job_id, what, count(*) FROM workflow_audit GROUP BY job_id, what"


def install(url: str) -> None:
    """Begin to note."""
    for statement in SQLITE if url.startswith("sqlite:") else POSTGRES:
        query(url, statement)


def set_one_going(driver: Driver) -> list[int]:
    """Make a waiting row available as River's user interface does; return its id if there was one."""
    with driver.connect() as connection, connection.transaction():
        return [row[0] for row in connection.fetch(Statement("set_one_going", SET_GOING, {}))]


def unfinished(driver: Driver) -> int:
    """Return how many rows of tasks have not ended."""
    with driver.connect() as connection:
        return int(connection.fetch(Statement("unfinished", UNFINISHED, {}))[0][0])


def audited(url: str, set_back: Iterable[int]) -> list[str]:
    """Return what is wrong: rows that ended, or started, more than once, or changed after their end.

    Those of `set_back` may end once more for each time that they are listed.
    """
    allowed = Counter(set_back)
    seen = Counter({(row[0], row[1]): row[2] for row in query(url, SUMMARY)})
    return [
        f"row {job_id} {what} {times} times"
        for (job_id, what), times in sorted(seen.items())
        if times > (0 if what == "changed" else 1) + allowed[job_id]
    ]
