-- name: job_reserve_ids
-- Gives @count ids that are free while the write transaction lasts, for rows that are to name each other.
WITH RECURSIVE free (id, number) AS (
    SELECT
        1 + max(
            coalesce((SELECT max(id) FROM /* TEMPLATE: schema */river_job), 0),
            coalesce((SELECT seq FROM /* TEMPLATE: schema */sqlite_sequence WHERE name = 'river_job'), 0)
        ),
        1
    UNION ALL
    SELECT id + 1, number + 1
    FROM free
    WHERE number < @count
)
SELECT id FROM free;

-- name: job_take_write_lock
-- Changes nothing, but begins the write transaction, so that what is read next stays true until its end.
UPDATE /* TEMPLATE: schema */river_job SET id = id WHERE id IS NULL;

-- name: job_insert_linked
-- Inserts the jobs of @jobs, a JSON array, under ids that were reserved for them.
INSERT INTO /* TEMPLATE: schema */river_job (
    id, args, attempt, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags
)
SELECT
    json_extract(job.value, '$.id'),
    jsonb(json_extract(job.value, '$.args')),
    0,
    coalesce(json_extract(job.value, '$.created_at'), strftime('%Y-%m-%d %H:%M:%f', 'now')),
    json_extract(job.value, '$.kind'),
    json_extract(job.value, '$.max_attempts'),
    jsonb(
        json_set(
            json_extract(job.value, '$.metadata'), '$."river:unique_nonce"', json_extract(job.value, '$.nonce')
        )
    ),
    json_extract(job.value, '$.priority'),
    json_extract(job.value, '$.queue'),
    coalesce(json_extract(job.value, '$.scheduled_at'), strftime('%Y-%m-%d %H:%M:%f', 'now')),
    json_extract(job.value, '$.state'),
    jsonb(json_extract(job.value, '$.tags'))
FROM json_each(@jobs) AS job
WHERE true
ORDER BY job.key
RETURNING /* INCLUDE: job_columns */;

-- name: job_lock_feedable_many
-- Those of the rows @ids (a JSON array) that have not ended; the write transaction locks them.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE id IN (SELECT value FROM json_each(@ids))
  AND finalized_at IS NULL
ORDER BY id;

-- name: job_feed_many
-- Writes what became of waiting rows, which the caller has locked. One that is to be available runs `delay`
-- seconds from now, and not before the time that it was given. One that does not wait just now, because
-- somebody set it going by hand, takes the metadata, or its end.
WITH change AS MATERIALIZED (
    SELECT
        json_extract(input.value, '$.id') AS id,
        json_extract(input.value, '$.state') AS state,
        strftime(
            '%Y-%m-%d %H:%M:%f',
            coalesce(@now, 'now'),
            json_extract(input.value, '$.delay') || ' seconds'
        ) AS due,
        json_extract(input.value, '$.error') AS error,
        json_extract(input.value, '$.metadata') AS metadata
    FROM json_each(@changes) AS input
)
UPDATE /* TEMPLATE: schema */river_job
SET state = CASE
        WHEN river_job.state <> 'pending' AND change.state NOT IN ('cancelled', 'completed', 'discarded')
            THEN river_job.state
        WHEN change.state = 'available'
            AND max(scheduled_at, change.due) > strftime('%Y-%m-%d %H:%M:%f', 'now', '5 seconds')
            THEN 'scheduled'
        ELSE change.state
    END,
    scheduled_at = CASE
        WHEN river_job.state = 'pending' AND change.state = 'available' THEN max(scheduled_at, change.due)
        ELSE scheduled_at
    END,
    finalized_at = CASE
        WHEN change.state IN ('cancelled', 'completed', 'discarded')
            THEN coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
    END,
    errors = CASE
        WHEN change.error IS NULL THEN river_job.errors
        ELSE jsonb(/* INCLUDE: errors_before */ || change.error || ']')
    END,
    metadata = jsonb(river_merge(river_json(river_job.metadata), change.metadata))
FROM change
WHERE river_job.id = change.id
  AND river_job.finalized_at IS NULL
RETURNING id, state, queue;

-- name: job_list_waiting
-- Waiting rows of one kind with ids above @after that are at least @age seconds old, in order of id.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE state = 'pending'
  AND kind = @kind
  AND id > @after
  AND created_at <= strftime('%Y-%m-%d %H:%M:%f', 'now', (-@age) || ' seconds')
  AND json_type(river_json(metadata), '$.python_task_members') IS NOT NULL
ORDER BY id
LIMIT @limit;

-- name: job_list_ended_many
-- Which of the rows @ids (a JSON array) are final or gone.
SELECT wanted.value
FROM json_each(@ids) AS wanted
LEFT JOIN /* TEMPLATE: schema */river_job ON river_job.id = wanted.value
WHERE river_job.id IS NULL
   OR river_job.finalized_at IS NOT NULL
ORDER BY wanted.value;
