-- name: job_update
-- Sets the columns of one job that @changes, a JSON object, has a key for. The key `output` is a key of the
-- metadata and leaves the others.
UPDATE /* TEMPLATE: schema */river_job
SET attempt = coalesce((changes.value ->> 'attempt')::smallint, river_job.attempt),
    attempted_at = CASE
        WHEN jsonb_exists(changes.value, 'attempted_at') THEN (changes.value ->> 'attempted_at')::timestamptz
        ELSE river_job.attempted_at
    END,
    attempted_by = CASE
        WHEN jsonb_typeof(changes.value -> 'attempted_by') = 'array'
            THEN ARRAY(SELECT jsonb_array_elements_text(changes.value -> 'attempted_by'))
        WHEN NOT jsonb_exists(changes.value, 'attempted_by') THEN river_job.attempted_by
    END,
    errors = CASE
        WHEN jsonb_typeof(changes.value -> 'errors') = 'array'
            THEN ARRAY(SELECT jsonb_array_elements(changes.value -> 'errors'))
        WHEN NOT jsonb_exists(changes.value, 'errors') THEN river_job.errors
    END,
    finalized_at = CASE
        WHEN jsonb_exists(changes.value, 'finalized_at') THEN (changes.value ->> 'finalized_at')::timestamptz
        ELSE river_job.finalized_at
    END,
    max_attempts = coalesce((changes.value ->> 'max_attempts')::smallint, river_job.max_attempts),
    metadata = coalesce(changes.value -> 'metadata', river_job.metadata) || CASE
        WHEN jsonb_exists(changes.value, 'output') THEN jsonb_build_object('output', changes.value -> 'output')
        ELSE '{}'
    END,
    state = coalesce((changes.value ->> 'state')::/* TEMPLATE: schema */river_job_state, river_job.state)
FROM (SELECT @changes::text::jsonb AS value) AS changes
WHERE river_job.id = @id::bigint
RETURNING /* INCLUDE: job_columns */;

-- name: job_count_by_all_states
-- How many jobs are in each state; a state without jobs has no row.
SELECT state::text, count(*)
FROM /* TEMPLATE: schema */river_job
GROUP BY state;

-- name: job_count_by_queue_and_state
-- How many jobs of each queue of @queues are available and how many run; a queue without either has no row.
SELECT queue, count(*) FILTER (WHERE state = 'available'), count(*) FILTER (WHERE state = 'running')
FROM /* TEMPLATE: schema */river_job
WHERE state IN ('available', 'running')
    AND queue = ANY (@queues::text::text[])
GROUP BY queue;

-- name: job_kind_list
-- The kinds of stored jobs, each once, by name: up to @limit behind @after that hold @match, in upper or lower
-- case, and are none of @exclude.
SELECT kind COLLATE "C" AS name
FROM /* TEMPLATE: schema */river_job
WHERE kind COLLATE "C" > @after::text
    AND strpos(lower(kind), lower(@match::text)) > 0
    AND kind <> ALL (@exclude::text::text[])
GROUP BY name
ORDER BY name
LIMIT @limit::bigint;
