-- name: job_get_by_task_id
-- The newest rows of one adapter task, a succeeded one first. SQLite has no index on args: this reads the table.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE river_job.kind = 'python_task'
  AND json_extract(river_json(river_job.args), '$.task.id') = @task_id
ORDER BY /* INCLUDE: task_has_succeeded */ DESC, river_job.id DESC
LIMIT @max;

-- name: task_has_succeeded
-- Fragment: whether a row says that its task has succeeded, by its run or by a result that was stored by hand.
(
    json_extract(river_json(river_job.metadata), '$.python_task_outcome') IS 'succeeded'
    OR json_extract(river_json(river_job.metadata), '$.python_task_state') IS 'SUCCESS'
);

-- name: job_get_by_task_id_many
-- The rows of the adapter tasks of @task_ids, a JSON array, those of one task in the order of job_get_by_task_id.
-- SQLite has no index on args: this reads the table, once for all of them.
SELECT /* INCLUDE: job_columns */,
    json_extract(river_json(river_job.args), '$.task.id') AS task_id
FROM /* TEMPLATE: schema */river_job
WHERE river_job.kind = 'python_task'
  AND json_extract(river_json(river_job.args), '$.task.id') IN (SELECT value FROM json_each(@task_ids))
ORDER BY task_id, /* INCLUDE: task_has_succeeded */ DESC, river_job.id DESC;

-- name: job_delete_by_task_id
-- Deletes the finished rows of one adapter task.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE kind = 'python_task'
  AND state IN ('cancelled', 'completed', 'discarded')
  AND json_extract(river_json(args), '$.task.id') = @task_id
RETURNING id;

-- name: task_result_store
-- Writes what somebody stores as the result of a task, unless it has succeeded. In a finished row it takes the
-- place of what its run gave.
UPDATE /* TEMPLATE: schema */river_job
SET metadata = jsonb(
    CASE
        WHEN finalized_at IS NULL THEN river_merge(river_json(metadata), @updates)
        ELSE river_merge(river_merge(river_json(metadata), @updates), '{"python_task_outcome": null}')
    END
)
WHERE id = @id
  AND NOT /* INCLUDE: task_has_succeeded */
RETURNING id;

-- name: task_result_insert
-- Writes a finished row for the result of a task that has none.
INSERT INTO /* TEMPLATE: schema */river_job (
    args, attempt, created_at, finalized_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags
) VALUES (
    jsonb(@args),
    0,
    strftime('%Y-%m-%d %H:%M:%f', 'now'),
    strftime('%Y-%m-%d %H:%M:%f', 'now'),
    'python_task',
    1,
    jsonb(@metadata),
    1,
    @queue,
    strftime('%Y-%m-%d %H:%M:%f', 'now'),
    @state,
    jsonb('[]')
)
RETURNING id;

-- name: task_result_delete_expired
-- Deletes up to @limit finished rows of adapters' tasks that are older than is to be kept; NULL keeps them.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id IN (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE kind = 'python_task'
      AND (
          (
              state IN ('cancelled', 'completed')
              AND finalized_at < strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || @ended || ' seconds')
          )
          OR (
              state = 'discarded'
              AND finalized_at < strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || @failed || ' seconds')
          )
      )
    ORDER BY id
    LIMIT @limit
)
RETURNING id;

-- name: job_release_put_off
-- Makes the rows of one adapter task available now that were put off under @key, and forgets that.
UPDATE /* TEMPLATE: schema */river_job
SET state = 'available',
    scheduled_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    metadata = jsonb(json_remove(river_json(metadata), '$.' || @key))
WHERE kind = 'python_task'
  AND state IN ('available', 'scheduled')
  AND scheduled_at > strftime('%Y-%m-%d %H:%M:%f', 'now')
  AND json_extract(river_json(args), '$.task.name') = @name
  AND json_extract(river_json(metadata), '$.' || @key) IS NOT NULL
RETURNING id;

-- name: task_count_unfinished_by_name
-- How many rows of an adapter's tasks have not ended, by the task's name; a name without any has no row.
SELECT json_extract(river_json(args), '$.task.name'), count(*)
FROM /* TEMPLATE: schema */river_job
WHERE kind = 'python_task'
  AND finalized_at IS NULL
  AND json_extract(river_json(args), '$.task.framework') = @framework
GROUP BY 1
ORDER BY 1;
