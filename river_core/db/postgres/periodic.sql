-- name: periodic_state_key
-- Fragment: the unique key of the standing row of the periodic job `periodic.id`.
convert_to('python_state:periodic_job:' || periodic.id, 'UTF8')

-- name: periodic_get_settled
-- The standing rows of the periodic jobs in @ids, a JSON array: id, and up to when runs are settled.
SELECT river_job.args ->> 'id', river_job.metadata ->> 'python_state_settled_at'
FROM /* TEMPLATE: schema */river_job
WHERE unique_key = ANY (
        ARRAY(
            SELECT /* INCLUDE: periodic_state_key */
            FROM jsonb_array_elements_text(@ids::text::jsonb) AS periodic (id)
        )
    )
  AND unique_key IS NOT NULL
  AND unique_states IS NOT NULL
  AND /* TEMPLATE: schema */river_job_state_in_bitmask(unique_states, state);

-- name: periodic_settle
-- Moves each standing row of @marks, a JSON array, on to its `settled_at`, and makes it where it is missing.
-- Gives no row for one that stands there or farther already: those runs are another leader's. A standing
-- row that somebody finished or retried is put back.
INSERT INTO /* TEMPLATE: schema */river_job (
    args, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, unique_key, unique_states
)
SELECT
    jsonb_build_object('state', 'periodic_job', 'id', periodic.id),
    coalesce(@now::text::timestamptz, now()),
    'python_state',
    25,
    jsonb_build_object('python_state_settled_at', periodic.settled_at),
    4,
    'python_state',
    coalesce(@now::text::timestamptz, now()),
    'pending',
    /* INCLUDE: periodic_state_key */,
    255::bit(8)
FROM jsonb_to_recordset(@marks::text::jsonb) AS periodic (id text, settled_at text)
ORDER BY periodic.id
ON CONFLICT (unique_key)
    WHERE unique_key IS NOT NULL
      AND unique_states IS NOT NULL
      AND /* TEMPLATE: schema */river_job_state_in_bitmask(unique_states, state)
    DO UPDATE SET
        metadata = river_job.metadata || excluded.metadata,
        state = 'pending',
        finalized_at = NULL
    WHERE coalesce(river_job.metadata ->> 'python_state_settled_at', '') COLLATE "C"
        < (excluded.metadata ->> 'python_state_settled_at') COLLATE "C"
RETURNING river_job.args ->> 'id';

-- name: periodic_get_newest
-- When the newest row of the periodic job @id was made. The inner part keeps the planner on the index of
-- metadata.
WITH found AS MATERIALIZED (
    SELECT created_at
    FROM /* TEMPLATE: schema */river_job
    WHERE metadata @> jsonb_build_object('river:periodic_job_id', @id::text)
)
SELECT max(created_at)
FROM found;
