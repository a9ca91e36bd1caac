-- name: job_reserve_ids
-- Takes @count ids for rows that are to name each other.
SELECT nextval(pg_get_serial_sequence('/* TEMPLATE: schema */river_job', 'id'))
FROM generate_series(1, @count::bigint);

-- name: job_insert_linked
-- Inserts the jobs of @jobs, a JSON array, under ids that were reserved for them.
INSERT INTO /* TEMPLATE: schema */river_job (
    id, args, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags
)
SELECT
    job.id,
    job.args::jsonb,
    coalesce(job.created_at, now()),
    job.kind,
    job.max_attempts,
    job.metadata::jsonb,
    job.priority,
    job.queue,
    coalesce(job.scheduled_at, now()),
    job.state::/* TEMPLATE: schema */river_job_state,
    ARRAY(SELECT json_array_elements_text(job.tags))
FROM json_to_recordset(@jobs::text::json) AS job (
    id bigint,
    args text,
    created_at timestamptz,
    kind text,
    max_attempts integer,
    metadata text,
    priority integer,
    queue text,
    scheduled_at timestamptz,
    state text,
    tags json
)
ORDER BY job.id
RETURNING /* INCLUDE: job_columns */;

-- name: job_lock_feedable_many
-- Locks, in id order, those of the rows @ids (a JSON array) that have not ended.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE id = ANY (ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(@ids::text::jsonb)))
  AND finalized_at IS NULL
ORDER BY id
FOR UPDATE;

-- name: job_feed_many
-- Writes what became of waiting rows, which the caller has locked. One that is to be available runs `delay`
-- seconds from now, and not before the time that it was given. One that does not wait just now, because
-- somebody set it going by hand, takes the metadata, or its end.
WITH change AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset(@changes::text::jsonb) AS input (
        id bigint,
        state text,
        delay float8,
        error jsonb,
        metadata jsonb
    )
)
UPDATE /* TEMPLATE: schema */river_job
SET state = CASE
        WHEN river_job.state <> 'pending' AND change.state NOT IN ('cancelled', 'completed', 'discarded')
            THEN river_job.state
        WHEN change.state = 'available'
            AND greatest(scheduled_at, now() + change.delay * interval '1 second') > now() + interval '5 seconds'
            THEN 'scheduled'
        ELSE change.state::/* TEMPLATE: schema */river_job_state
    END,
    scheduled_at = CASE
        WHEN river_job.state = 'pending' AND change.state = 'available'
            THEN greatest(scheduled_at, coalesce(@now::text::timestamptz, now()) + change.delay * interval '1 second')
        ELSE scheduled_at
    END,
    finalized_at = CASE
        WHEN change.state IN ('cancelled', 'completed', 'discarded') THEN coalesce(@now::text::timestamptz, now())
    END,
    errors = CASE
        WHEN change.error IS NULL THEN river_job.errors
        ELSE array_append(/* INCLUDE: errors_before */, change.error)
    END,
    metadata = river_job.metadata || change.metadata
FROM change
WHERE river_job.id = ANY (ARRAY[change.id])
  AND river_job.finalized_at IS NULL
RETURNING river_job.id, river_job.state::text, river_job.queue;

-- name: job_list_waiting
-- Waiting rows of one kind with ids above @after that are at least @age seconds old, in order of id.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE state = 'pending'
  AND kind = @kind::text
  AND id > @after::bigint
  AND created_at <= now() - @age::float8 * interval '1 second'
  AND jsonb_exists(metadata, 'python_task_members')
ORDER BY id
LIMIT @limit::bigint;

-- name: job_take_write_lock
-- Nothing to do: rows are locked one by one here.
SELECT 1;

-- name: job_list_ended_many
-- Which of the rows @ids (a JSON array) are final or gone.
SELECT wanted.id
FROM (SELECT value::bigint AS id FROM jsonb_array_elements_text(@ids::text::jsonb)) AS wanted
LEFT JOIN /* TEMPLATE: schema */river_job ON river_job.id = ANY (ARRAY[wanted.id])
WHERE river_job.id IS NULL
   OR river_job.finalized_at IS NOT NULL
ORDER BY wanted.id;
