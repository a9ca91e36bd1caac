-- name: standing_values
-- Fragment: the standing row of @key: what it holds, and for how many seconds, without end where that is NULL.
INSERT INTO /* TEMPLATE: schema */river_job (
    args, kind, max_attempts, metadata, queue, state, unique_key, unique_states
) VALUES (
    jsonb_build_object('key', @key::text),
    'python_state',
    25,
    jsonb_strip_nulls(
        jsonb_build_object(
            'python_task_value', @value::text,
            'python_task_until', extract(epoch FROM clock_timestamp()) + @seconds::float8
        )
    ),
    'python_state',
    'pending',
    @unique_key::bytea,
    @unique_states::integer::bit(8)
)
/* INCLUDE: job_unique_target */;

-- name: standing_put
-- Writes the standing row of @key, or replaces what it holds. One that somebody cancelled is put back.
/* INCLUDE: standing_values */, metadata = excluded.metadata, state = 'pending', finalized_at = NULL
RETURNING river_job.id;

-- name: standing_add
-- Writes the standing row of @key unless there is one.
/* INCLUDE: standing_values */
RETURNING river_job.id;

-- name: standing_columns
-- Fragment: id, key and value of a standing row.
id, args ->> 'key', metadata ->> 'python_task_value';

-- name: standing_is_current
-- Fragment: whether a standing row is one, and its time has not run out.
state = 'pending'
    AND queue = 'python_state'
    AND kind = 'python_state'
    AND coalesce((metadata ->> 'python_task_until')::float8 > extract(epoch FROM clock_timestamp()), true);

-- name: standing_get_many
-- The standing rows of @unique_keys, a JSON array of hex digits.
SELECT /* INCLUDE: standing_columns */
FROM /* TEMPLATE: schema */river_job
WHERE unique_key = ANY (ARRAY(SELECT decode(value, 'hex') FROM jsonb_array_elements_text(@unique_keys::text::jsonb) AS value))
    AND unique_states IS NOT NULL
    AND /* TEMPLATE: schema */river_job_state_in_bitmask(unique_states, state)
    AND /* INCLUDE: standing_is_current */;

-- name: standing_list
-- The standing rows whose keys begin with @prefix, by id.
SELECT /* INCLUDE: standing_columns */
FROM /* TEMPLATE: schema */river_job
WHERE /* INCLUDE: standing_is_current */
    AND starts_with(args ->> 'key', @prefix::text)
ORDER BY id;

-- name: standing_delete_many
-- Deletes the standing rows with the ids @ids, a JSON array.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id = ANY (ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(@ids::text::jsonb)))
    AND kind = 'python_state'
RETURNING id;

-- name: standing_delete_expired
-- Deletes the standing rows whose time has run out.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE state = 'pending'
    AND queue = 'python_state'
    AND kind = 'python_state'
    AND (metadata ->> 'python_task_until')::float8 <= extract(epoch FROM clock_timestamp())
RETURNING id;

-- name: standing_lock
-- Locks the standing row of @unique_key and reads it with the time, in seconds since the epoch.
SELECT id, metadata ->> 'python_task_value', extract(epoch FROM clock_timestamp())::float8
FROM /* TEMPLATE: schema */river_job
WHERE unique_key = @unique_key::bytea
    AND unique_states IS NOT NULL
    AND /* TEMPLATE: schema */river_job_state_in_bitmask(unique_states, state)
    AND kind = 'python_state'
FOR UPDATE;
