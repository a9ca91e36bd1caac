-- name: job_lock_unfinished_of_tasks
-- Reads the rows of the adapter tasks @task_ids, a JSON array, that have not ended; the write transaction locks them.
-- SQLite has no index on args: this reads the rows of the kind.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE kind = 'python_task'
    AND finalized_at IS NULL
    AND json_extract(river_json(args), '$.task.id') IN (SELECT value FROM json_each(@task_ids))
ORDER BY id;

-- name: job_lock_unfinished_stamped
-- Reads the rows of adapter tasks that have not ended and whose stamps hold any of @stamps, a JSON array of
-- [name, value].
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE kind = 'python_task'
    AND finalized_at IS NULL
    AND EXISTS (
        SELECT 1
        FROM json_each(json_extract(river_json(metadata), '$.python_task_stamps')) AS stamp,
            json_each(CASE stamp.type WHEN 'array' THEN stamp.value ELSE json_array(stamp.atom) END) AS held,
            json_each(@stamps) AS wanted
        WHERE stamp.key = json_extract(wanted.value, '$[0]')
            AND held.atom = json_extract(wanted.value, '$[1]')
    )
ORDER BY id;

-- name: job_mark_cancelled_many
-- Marks the running rows of @ids, a JSON array, as cancelled by @mark, RFC 3339 text; with @updates, a JSON object, for
-- their metadata.
UPDATE /* TEMPLATE: schema */river_job
SET metadata = jsonb(river_merge(json_set(river_json(metadata), '$.cancel_attempted_at', @mark), @updates))
WHERE id IN (SELECT value FROM json_each(@ids))
    AND state = 'running'
RETURNING id;

-- name: job_set_cancelled_many
-- Ends rows that do not run.
WITH change AS MATERIALIZED (
    SELECT
        json_extract(input.value, '$.id') AS id,
        json_extract(input.value, '$.error') AS error,
        json_extract(input.value, '$.metadata') AS metadata
    FROM json_each(@changes) AS input
)
UPDATE /* TEMPLATE: schema */river_job
SET state = 'cancelled',
    finalized_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    errors = jsonb(/* INCLUDE: errors_before */ || change.error || ']'),
    metadata = jsonb(river_merge(river_json(river_job.metadata), change.metadata))
FROM change
WHERE river_job.id = change.id
    AND river_job.state IN ('available', 'pending', 'retryable', 'scheduled')
RETURNING id;

-- name: job_list_terminated
-- Which of the running rows @ids, a JSON array, were asked to be terminated: id, attempt and signal.
SELECT id, attempt, json_extract(river_json(metadata), '$.python_task_terminate')
FROM /* TEMPLATE: schema */river_job
WHERE id IN (SELECT value FROM json_each(@ids))
    AND state = 'running'
    AND json_extract(river_json(metadata), '$.python_task_terminate') IS NOT NULL;

-- name: task_purge
-- Deletes up to @limit waiting rows of the adapter tasks of a framework in @queues.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id IN (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE kind = 'python_task'
        AND state IN ('available', 'retryable', 'scheduled')
        AND queue IN (SELECT value FROM json_each(@queues))
        AND json_extract(river_json(args), '$.task.framework') = @framework
    LIMIT @limit
)
RETURNING id;
