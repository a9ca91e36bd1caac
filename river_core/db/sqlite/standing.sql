-- name: standing_values
-- Fragment: the standing row of @key: what it holds, and for how many seconds, without end where that is NULL.
INSERT INTO /* TEMPLATE: schema */river_job (
    args, attempt, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key,
    unique_states
) VALUES (
    jsonb(json_object('key', @key)),
    0,
    strftime('%Y-%m-%d %H:%M:%f', 'now'),
    'python_state',
    25,
    jsonb(
        CASE
            WHEN @seconds IS NULL THEN json_object('python_task_value', @value)
            ELSE json_object(
                'python_task_value', @value, 'python_task_until', /* INCLUDE: epoch_now */ + @seconds
            )
        END
    ),
    1,
    'python_state',
    strftime('%Y-%m-%d %H:%M:%f', 'now'),
    'pending',
    jsonb('[]'),
    @unique_key,
    @unique_states
)
/* INCLUDE: job_unique_target */;

-- name: standing_put
-- Writes the standing row of @key, or replaces what it holds. One that somebody cancelled is put back.
/* INCLUDE: standing_values */, metadata = excluded.metadata, state = 'pending', finalized_at = NULL
RETURNING id;

-- name: standing_add
-- Writes the standing row of @key unless there is one.
/* INCLUDE: standing_values */
RETURNING id;

-- name: epoch_now
-- Fragment: the time in seconds since the epoch.
((julianday('now') - 2440587.5) * 86400.0);

-- name: standing_columns
-- Fragment: id, key and value of a standing row.
id, json_extract(river_json(args), '$.key'), json_extract(river_json(metadata), '$.python_task_value');

-- name: standing_is_current
-- Fragment: whether a standing row is one, and its time has not run out.
state = 'pending'
    AND queue = 'python_state'
    AND kind = 'python_state'
    AND coalesce(json_extract(river_json(metadata), '$.python_task_until') > /* INCLUDE: epoch_now */, 1);

-- name: standing_get_many
-- The standing rows of @unique_keys, a JSON array of hex digits.
SELECT /* INCLUDE: standing_columns */
FROM /* TEMPLATE: schema */river_job
WHERE /* INCLUDE: standing_is_current */
    AND lower(hex(unique_key)) IN (SELECT value FROM json_each(@unique_keys));

-- name: standing_list
-- The standing rows whose keys begin with @prefix, by id.
SELECT /* INCLUDE: standing_columns */
FROM /* TEMPLATE: schema */river_job
WHERE /* INCLUDE: standing_is_current */
    AND substr(json_extract(river_json(args), '$.key'), 1, length(@prefix)) = @prefix
ORDER BY id;

-- name: standing_delete_many
-- Deletes the standing rows with the ids @ids, a JSON array.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id IN (SELECT value FROM json_each(@ids))
    AND kind = 'python_state'
RETURNING id;

-- name: standing_delete_expired
-- Deletes the standing rows whose time has run out.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE state = 'pending'
    AND queue = 'python_state'
    AND kind = 'python_state'
    AND json_extract(river_json(metadata), '$.python_task_until') <= /* INCLUDE: epoch_now */
RETURNING id;

-- name: standing_lock
-- Reads the standing row of @unique_key with the time, in seconds since the epoch; the write transaction locks it.
SELECT id, json_extract(river_json(metadata), '$.python_task_value'), /* INCLUDE: epoch_now */
FROM /* TEMPLATE: schema */river_job
WHERE /* INCLUDE: unique_slot_held */
    AND kind = 'python_state'
    AND unique_key = @unique_key;
