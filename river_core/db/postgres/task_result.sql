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
ORDER BY /* INCLUDE: task_has_succeeded */ DESC, river_job.id DESC
LIMIT @max::integer;

-- name: task_has_succeeded
-- Fragment: whether a row says that its task has succeeded, by its run or by a result that was stored by hand.
(
    (river_job.metadata ->> 'python_task_outcome') IS NOT DISTINCT FROM 'succeeded'
    OR (river_job.metadata ->> 'python_task_state') IS NOT DISTINCT FROM 'SUCCESS'
);

-- name: job_get_by_task_id_many
-- The two first rows of each adapter task of @task_ids, a JSON array, in the order of job_get_by_task_id. Each
-- task is looked up by the index on args; the fence keeps the order out of that search.
SELECT /* INCLUDE: job_columns */,
    wanted.task_id
FROM jsonb_array_elements_text(@task_ids::text::jsonb) WITH ORDINALITY AS wanted (task_id, position)
CROSS JOIN LATERAL (
    SELECT found.*
    FROM (
        SELECT *
        FROM /* TEMPLATE: schema */river_job
        WHERE args @> jsonb_build_object('task', jsonb_build_object('id', wanted.task_id))
        OFFSET 0
    ) AS found
    WHERE found.kind = 'python_task'
    ORDER BY
        (found.metadata ->> 'python_task_outcome') IS NOT DISTINCT FROM 'succeeded'
            OR (found.metadata ->> 'python_task_state') IS NOT DISTINCT FROM 'SUCCESS' DESC,
        found.id DESC
    LIMIT 2
) AS river_job
ORDER BY wanted.position;

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

-- name: task_result_store
-- Writes what somebody stores as the result of a task, unless it has succeeded. In a finished row it takes the
-- place of what its run gave.
UPDATE /* TEMPLATE: schema */river_job
SET metadata = metadata || @updates::text::jsonb || CASE
        WHEN finalized_at IS NULL THEN '{}'::jsonb
        ELSE '{"python_task_outcome": null}'::jsonb
    END
WHERE id = @id::bigint
  AND NOT /* INCLUDE: task_has_succeeded */
RETURNING id;

-- name: task_result_insert
-- Writes a finished row for the result of a task that has none.
INSERT INTO /* TEMPLATE: schema */river_job (
    args, attempt, finalized_at, kind, max_attempts, metadata, queue, state
) VALUES (
    @args::text::jsonb,
    0,
    now(),
    'python_task',
    1,
    @metadata::text::jsonb,
    @queue::text,
    @state::text::/* TEMPLATE: schema */river_job_state
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
          (state IN ('cancelled', 'completed') AND finalized_at < now() - @ended::float8 * interval '1 second')
          OR (state = 'discarded' AND finalized_at < now() - @failed::float8 * interval '1 second')
      )
    ORDER BY id
    LIMIT @limit::bigint
    FOR UPDATE SKIP LOCKED
)
RETURNING id;

-- name: job_release_put_off
-- Makes the rows of one adapter task available now that were put off under @key, and forgets that.
WITH found AS MATERIALIZED (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE args @> jsonb_build_object('task', jsonb_build_object('name', @name::text))
      AND kind = 'python_task'
      AND state IN ('available', 'scheduled')
      AND scheduled_at > now()
      AND metadata ? @key::text
    FOR UPDATE SKIP LOCKED
)
UPDATE /* TEMPLATE: schema */river_job
SET state = 'available', scheduled_at = now(), metadata = river_job.metadata - @key::text
FROM found
WHERE river_job.id = found.id
RETURNING river_job.id;

-- name: task_count_unfinished_by_name
-- How many rows of an adapter's tasks have not ended, by the task's name; a name without any has no row.
SELECT args -> 'task' ->> 'name', count(*)
FROM /* TEMPLATE: schema */river_job
WHERE kind = 'python_task'
    AND finalized_at IS NULL
    AND args -> 'task' ->> 'framework' = @framework::text
GROUP BY 1
ORDER BY 1;
