-- name: periodic_state_key
-- Fragment: the unique key of the standing row of the periodic job `periodic.id`.
CAST('python_state:periodic_job:' || periodic.id AS blob)

-- name: periodic_get_settled
-- The standing rows of the periodic jobs in @ids, a JSON array: id, and up to when runs are settled.
SELECT
    json_extract(river_json(river_job.args), '$.id'),
    json_extract(river_json(river_job.metadata), '$.python_state_settled_at')
FROM /* TEMPLATE: schema */river_job
WHERE unique_key IN (
        SELECT /* INCLUDE: periodic_state_key */
        FROM (SELECT value AS id FROM json_each(@ids)) AS periodic
    )
  AND /* INCLUDE: unique_slot_held */;

-- name: periodic_settle
-- Moves each standing row of @marks, a JSON array, on to its `settled_at`, and makes it where it is missing.
-- Gives no row for one that stands there or farther already: those runs are another leader's. A standing
-- row that somebody finished or retried is put back.
INSERT INTO /* TEMPLATE: schema */river_job (
    args, attempt, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key,
    unique_states
)
SELECT
    jsonb(json_object('state', 'periodic_job', 'id', periodic.id)),
    0,
    coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    'python_state',
    25,
    jsonb(json_object('python_state_settled_at', periodic.settled_at)),
    4,
    'python_state',
    coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    'pending',
    jsonb('[]'),
    /* INCLUDE: periodic_state_key */,
    255
FROM (
    SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.settled_at') AS settled_at
    FROM json_each(@marks)
) AS periodic
WHERE true
ON CONFLICT (unique_key)
    WHERE /* INCLUDE: unique_slot_held */
    DO UPDATE SET
        metadata = jsonb(
            json_set(
                river_json(river_job.metadata),
                '$.python_state_settled_at',
                json_extract(json(excluded.metadata), '$.python_state_settled_at')
            )
        ),
        state = 'pending',
        finalized_at = NULL
    WHERE coalesce(json_extract(river_json(river_job.metadata), '$.python_state_settled_at'), '')
        < json_extract(json(excluded.metadata), '$.python_state_settled_at')
RETURNING json_extract(json(args), '$.id');

-- name: periodic_get_newest
-- When the newest row of the periodic job @id was made. There is no index of metadata here; it is asked
-- only for a run that was missed.
SELECT max(created_at)
FROM /* TEMPLATE: schema */river_job
WHERE json_extract(river_json(metadata), '$."river:periodic_job_id"') = @id;
