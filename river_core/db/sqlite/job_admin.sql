-- name: job_update
-- Sets the columns of one job that @changes, a JSON object, has a key for. The key `output` is a key of the
-- metadata and leaves the others. (`->` gives JSON that keeps the spelling of numbers.)
UPDATE /* TEMPLATE: schema */river_job
SET attempt = coalesce(json_extract(@changes, '$.attempt'), attempt),
    attempted_at = CASE
        WHEN json_type(@changes, '$.attempted_at') IS NULL THEN attempted_at
        ELSE json_extract(@changes, '$.attempted_at')
    END,
    attempted_by = CASE json_type(@changes, '$.attempted_by')
        WHEN 'array' THEN jsonb(@changes -> '$.attempted_by')
        WHEN 'null' THEN NULL
        ELSE attempted_by
    END,
    errors = CASE json_type(@changes, '$.errors')
        WHEN 'array' THEN jsonb(@changes -> '$.errors')
        WHEN 'null' THEN NULL
        ELSE errors
    END,
    finalized_at = CASE
        WHEN json_type(@changes, '$.finalized_at') IS NULL THEN finalized_at
        ELSE json_extract(@changes, '$.finalized_at')
    END,
    max_attempts = coalesce(json_extract(@changes, '$.max_attempts'), max_attempts),
    metadata = CASE
        WHEN json_type(@changes, '$.output') IS NULL THEN jsonb(coalesce(@changes -> '$.metadata', json(metadata)))
        ELSE jsonb(
            json_set(coalesce(@changes -> '$.metadata', json(metadata)), '$.output', @changes -> '$.output')
        )
    END,
    state = coalesce(json_extract(@changes, '$.state'), state)
WHERE id = @id
RETURNING /* INCLUDE: job_columns */;

-- name: job_count_by_all_states
-- How many jobs are in each state; a state without jobs has no row.
SELECT state, count(*)
FROM /* TEMPLATE: schema */river_job
GROUP BY state;

-- name: job_count_by_queue_and_state
-- How many jobs of each queue of @queues are available and how many run; a queue without either has no row.
SELECT queue, count(*) FILTER (WHERE state = 'available'), count(*) FILTER (WHERE state = 'running')
FROM /* TEMPLATE: schema */river_job
WHERE state IN ('available', 'running')
    AND queue IN (SELECT value FROM json_each(@queues))
GROUP BY queue;

-- name: job_kind_list
-- The kinds of stored jobs, each once, by name: up to @limit behind @after that hold @match, in upper or lower
-- case of English letters, and are none of @exclude.
SELECT DISTINCT kind
FROM /* TEMPLATE: schema */river_job
WHERE kind > @after
    AND instr(lower(kind), lower(@match)) > 0
    AND kind NOT IN (SELECT value FROM json_each(@exclude))
ORDER BY kind
LIMIT @limit;
