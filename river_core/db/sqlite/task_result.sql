-- name: job_get_by_task_id
-- The newest rows of one adapter task, a succeeded one first. SQLite has no index on args: this reads the table.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE river_job.kind = 'python_task'
  AND json_extract(river_json(river_job.args), '$.task.id') = @task_id
ORDER BY
    json_extract(river_json(river_job.metadata), '$.python_task_outcome') IS 'succeeded' DESC,
    river_job.id DESC
LIMIT @max;

-- name: job_delete_by_task_id
-- Deletes the finished rows of one adapter task.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE kind = 'python_task'
  AND state IN ('cancelled', 'completed', 'discarded')
  AND json_extract(river_json(args), '$.task.id') = @task_id
RETURNING id;

-- name: task_state_set
-- Writes the custom state of a task that has not ended, at once, and tells nobody.
UPDATE /* TEMPLATE: schema */river_job
SET metadata = jsonb(river_merge(river_json(metadata), @updates))
WHERE id = @id
  AND state NOT IN ('cancelled', 'completed', 'discarded')
RETURNING id;
