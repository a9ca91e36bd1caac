-- name: limit_time
-- Nothing: SQLite has no limit for the time of a statement (@milliseconds).
SELECT 1 WHERE @milliseconds IS NULL;

-- name: database_time
-- The time by which rows are stamped.
SELECT strftime('%Y-%m-%d %H:%M:%f', 'now');

-- name: unique_slot_held
-- Fragment: the row holds its unique key. Written exactly as in the predicate of river_job_unique_idx,
-- or SQLite would not use that index.
unique_key IS NOT NULL
    AND unique_states IS NOT NULL
    AND CASE state
            WHEN 'available' THEN unique_states & (1 << 0)
            WHEN 'cancelled' THEN unique_states & (1 << 1)
            WHEN 'completed' THEN unique_states & (1 << 2)
            WHEN 'discarded' THEN unique_states & (1 << 3)
            WHEN 'pending' THEN unique_states & (1 << 4)
            WHEN 'retryable' THEN unique_states & (1 << 5)
            WHEN 'running' THEN unique_states & (1 << 6)
            WHEN 'scheduled' THEN unique_states & (1 << 7)
            ELSE 0
        END >= 1

-- name: job_schedule
-- Makes up to @limit rows available that fall due before @horizon. Of rows with one unique key the
-- one that holds the key wins, else the first in order; without a free key a row is discarded, or put
-- off where even a discarded row would break the key. One result row a job, counted by the caller.
WITH due AS MATERIALIZED (
    SELECT
        id, priority, scheduled_at, unique_key, unique_states,
        /* INCLUDE: unique_slot_held */ AS holding
    FROM /* TEMPLATE: schema */river_job
    WHERE state IN ('retryable', 'scheduled')
      AND scheduled_at <= @horizon
    ORDER BY priority, scheduled_at, id
    LIMIT @limit
), contender AS MATERIALIZED (
    SELECT
        id,
        unique_key,
        unique_states & (1 << 3) AS kept_when_discarded,
        row_number() OVER (PARTITION BY unique_key ORDER BY holding DESC, priority, scheduled_at, id) AS place
    FROM due
    WHERE unique_key IS NOT NULL AND unique_states IS NOT NULL
), fate AS MATERIALIZED (
    SELECT id, 'available' AS verdict
    FROM due
    WHERE unique_key IS NULL OR unique_states IS NULL
    UNION ALL
    SELECT
        contender.id,
        CASE
            WHEN place = 1 AND NOT EXISTS (
                SELECT 1
                FROM (
                    SELECT id, unique_key
                    FROM /* TEMPLATE: schema */river_job
                    WHERE /* INCLUDE: unique_slot_held */
                ) AS holder
                WHERE holder.unique_key = contender.unique_key
                  AND holder.id NOT IN (SELECT id FROM due)
            ) THEN 'available'
            WHEN kept_when_discarded THEN 'put off'
            ELSE 'discarded'
        END
    FROM contender
)
UPDATE /* TEMPLATE: schema */river_job
SET state = CASE WHEN fate.verdict = 'put off' THEN state ELSE fate.verdict END,
    finalized_at = CASE
        WHEN fate.verdict = 'discarded' THEN coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
    END,
    scheduled_at = CASE
        WHEN fate.verdict = 'put off'
            THEN strftime('%Y-%m-%d %H:%M:%f', coalesce(@now, 'now'), '60 seconds')
        ELSE river_job.scheduled_at
    END,
    metadata = CASE
        WHEN fate.verdict = 'discarded'
            THEN jsonb(json_set(river_json(metadata), '$.unique_key_conflict', 'scheduler_discarded'))
        ELSE metadata
    END
FROM fate
WHERE river_job.id = fate.id
RETURNING
    queue,
    state = 'available',
    state = 'discarded',
    state NOT IN ('available', 'discarded'),
    state = 'available'
        AND scheduled_at <= strftime('%Y-%m-%d %H:%M:%f', coalesce(@now, 'now'), '0.005 seconds');

-- name: job_get_stuck
-- Running rows that were claimed before @horizon, by id from behind @after.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE state = 'running'
  AND attempted_at < @horizon
  AND id > @after
ORDER BY id
LIMIT @limit;

-- name: job_rescue_many
-- Writes the verdicts of @rescues, each only while its row is still the same attempt of the same client
-- and was not refreshed since.
WITH rescue AS MATERIALIZED (
    SELECT
        json_extract(input.value, '$.id') AS id,
        json_extract(input.value, '$.attempt') AS attempt,
        json_extract(input.value, '$.client_id') AS client_id,
        json_extract(input.value, '$.state') AS state,
        json_extract(input.value, '$.finalized_at') AS finalized_at,
        json_extract(input.value, '$.scheduled_at') AS scheduled_at,
        json_extract(input.value, '$.error') AS error
    FROM json_each(@rescues) AS input
)
UPDATE /* TEMPLATE: schema */river_job
SET state = rescue.state,
    finalized_at = rescue.finalized_at,
    scheduled_at = coalesce(rescue.scheduled_at, river_job.scheduled_at),
    errors = jsonb(/* INCLUDE: errors_before */ || rescue.error || ']'),
    metadata = /* INCLUDE: counted_rescue */
FROM rescue
WHERE river_job.id = rescue.id
  AND river_job.state = 'running'
  AND river_job.attempt = rescue.attempt
  AND json_extract(river_json(river_job.attempted_by), '$[#-1]') IS rescue.client_id
  AND river_job.attempted_at < @horizon
RETURNING id, queue, state;

-- name: errors_before
-- Fragment: the text of the error history up to where the next error is written.
CASE
    WHEN river_job.errors IS NULL OR river_json(river_job.errors) = '[]' THEN '['
    WHEN json_type(river_json(river_job.errors)) <> 'array' THEN '[' || river_json(river_job.errors) || ','
    ELSE substr(river_json(river_job.errors), 1, length(river_json(river_job.errors)) - 1) || ','
END

-- name: rescue_number
-- Fragment: how many rescues the row has behind it with this one; what is no number counts as none.
CASE
    WHEN json_type(river_json(river_job.metadata), '$."river:rescue_count"') IN ('integer', 'real')
        THEN cast(json_extract(river_json(river_job.metadata), '$."river:rescue_count"') AS integer)
    ELSE 0
END + 1

-- name: counted_rescue
-- Fragment: the metadata with one rescue more; json_set keeps the spelling of all other values, and leaves
-- what is no object as it is.
jsonb(json_set(river_json(river_job.metadata), '$."river:rescue_count"', /* INCLUDE: rescue_number */))

-- name: snapshot_get_oldest
-- Nothing: readers of a SQLite file keep no rows alive (@seconds, @transactions).
SELECT 1 WHERE @seconds IS NULL AND @transactions IS NULL;

-- name: job_delete_before
-- Deletes up to @limit finished rows past the retention of their state; a time of NULL keeps a state.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id IN (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE (state = 'cancelled' AND finalized_at < @cancelled_before)
       OR (state = 'completed' AND finalized_at < @completed_before)
       OR (state = 'discarded' AND finalized_at < @discarded_before)
    ORDER BY id
    LIMIT @limit
)
RETURNING id;

-- name: queue_delete_expired
-- Deletes up to @limit queue rows that no client has reported since @horizon.
DELETE FROM /* TEMPLATE: schema */river_queue
WHERE name IN (
    SELECT name
    FROM /* TEMPLATE: schema */river_queue
    WHERE updated_at < @horizon
    ORDER BY name
    LIMIT @limit
)
RETURNING name;

-- name: notification_delete_before
-- Deletes up to @limit outbox rows made before @horizon.
DELETE FROM /* TEMPLATE: schema */river_notification
WHERE id IN (
    SELECT id
    FROM /* TEMPLATE: schema */river_notification
    WHERE created_at < @horizon
    ORDER BY id
    LIMIT @limit
)
RETURNING id;
