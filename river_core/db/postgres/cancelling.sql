-- name: job_lock_unfinished_of_tasks
-- Locks, in id order, the rows of the adapter tasks @task_ids, a JSON array, that have not ended. The search is done by
-- the index on args before anything is locked.
WITH found AS MATERIALIZED (
    SELECT job.id
    FROM jsonb_array_elements_text(@task_ids::text::jsonb) AS wanted (task_id),
        LATERAL (
            SELECT id
            FROM /* TEMPLATE: schema */river_job
            WHERE args @> jsonb_build_object('task', jsonb_build_object('id', wanted.task_id))
        ) AS job
)
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE id = ANY (ARRAY(SELECT id FROM found))
    AND kind = 'python_task'
    AND finalized_at IS NULL
ORDER BY id
FOR UPDATE;

-- name: job_lock_unfinished_stamped
-- Locks, in id order, the rows of adapter tasks that have not ended and whose stamps hold any of @stamps, a JSON array of
-- [name, value].
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE kind = 'python_task'
    AND finalized_at IS NULL
    AND jsonb_exists(metadata, 'python_task_stamps')
    AND EXISTS (
        SELECT
        FROM jsonb_array_elements(@stamps::text::jsonb) AS wanted (stamp)
        WHERE CASE jsonb_typeof(metadata -> 'python_task_stamps' -> (wanted.stamp ->> 0))
            WHEN 'array' THEN metadata -> 'python_task_stamps' -> (wanted.stamp ->> 0) @> jsonb_build_array(wanted.stamp -> 1)
            ELSE metadata -> 'python_task_stamps' -> (wanted.stamp ->> 0) = wanted.stamp -> 1
        END
    )
ORDER BY id
FOR UPDATE;

-- name: job_mark_cancelled_many
-- Marks the running rows of @ids, a JSON array, as cancelled by @mark, RFC 3339 text; with @updates, a JSON object, for
-- their metadata.
UPDATE /* TEMPLATE: schema */river_job
SET metadata = metadata || jsonb_build_object('cancel_attempted_at', @mark::text) || @updates::text::jsonb
WHERE id = ANY (ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(@ids::text::jsonb)))
    AND state = 'running'
RETURNING id;

-- name: job_set_cancelled_many
-- Ends rows that do not run, which the caller has locked.
WITH change AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset(@changes::text::jsonb) AS input (id bigint, error jsonb, metadata jsonb)
)
UPDATE /* TEMPLATE: schema */river_job
SET state = 'cancelled',
    finalized_at = now(),
    errors = array_append(/* INCLUDE: errors_before */, change.error),
    metadata = river_job.metadata || change.metadata
FROM change
WHERE river_job.id = ANY (ARRAY[change.id])
    AND river_job.state IN ('available', 'pending', 'retryable', 'scheduled')
RETURNING river_job.id;

-- name: job_list_terminated
-- Which of the running rows @ids, a JSON array, were asked to be terminated: id, attempt and signal.
SELECT id, attempt, metadata ->> 'python_task_terminate'
FROM /* TEMPLATE: schema */river_job
WHERE id = ANY (ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(@ids::text::jsonb)))
    AND state = 'running'
    AND jsonb_exists(metadata, 'python_task_terminate');

-- name: task_purge
-- Deletes up to @limit waiting rows of the adapter tasks of a framework in @queues.
WITH found AS MATERIALIZED (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE kind = 'python_task'
        AND state IN ('available', 'retryable', 'scheduled')
        AND queue = ANY (@queues::text::text[])
        AND args -> 'task' ->> 'framework' = @framework::text
    LIMIT @limit::bigint
    FOR UPDATE SKIP LOCKED
)
DELETE FROM /* TEMPLATE: schema */river_job
USING found
WHERE river_job.id = ANY (ARRAY[found.id])
RETURNING river_job.id;
