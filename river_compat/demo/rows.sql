-- One call of a task is one row of river_job, and one more for each retry. With SQLite 3.45 or newer:
--   sqlite3 -box river.sqlite3 < rows.sql
SELECT
    id,
    json_extract(json(args), '$.task.name') AS task,
    state,
    attempt,
    coalesce(json_extract(json(metadata), '$.python_task_outcome'), '') AS outcome
FROM river_job
ORDER BY id;
