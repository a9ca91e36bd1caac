-- name: job_get_by_task_id
-- The newest rows of one adapter task, a succeeded one first. The search is done by the index on args before
-- anything is ordered; a plan that walks the primary key instead reads the whole table.
WITH found AS MATERIALIZED (
    SELECT *
    FROM /* TEMPLATE: schema */river_job
    WHERE args @> jsonb_build_object('task', jsonb_build_object('id', @task_id::text))
)
SELECT /* INCLUDE: job_columns */
FROM found AS river_job
WHERE river_job.kind = 'python_task'
ORDER BY (river_job.metadata ->> 'python_task_outcome') IS NOT DISTINCT FROM 'succeeded' DESC, river_job.id DESC
LIMIT @max::integer;

-- name: job_delete_by_task_id
-- Deletes the finished rows of one adapter task.
WITH found AS MATERIALIZED (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE args @> jsonb_build_object('task', jsonb_build_object('id', @task_id::text))
      AND kind = 'python_task'
      AND state IN ('cancelled', 'completed', 'discarded')
)
DELETE FROM /* TEMPLATE: schema */river_job
USING found
WHERE river_job.id = found.id
RETURNING river_job.id;

-- name: task_state_set
-- Writes the custom state of a task that has not ended, at once, and tells nobody.
UPDATE /* TEMPLATE: schema */river_job
SET metadata = metadata || @updates::text::jsonb
WHERE id = @id::bigint
  AND state NOT IN ('cancelled', 'completed', 'discarded')
RETURNING id;
