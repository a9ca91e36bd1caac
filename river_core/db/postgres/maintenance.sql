-- name: limit_time
-- Ends any later statement of this transaction that runs longer than @milliseconds.
SELECT set_config('statement_timeout', @milliseconds::bigint::text, true);

-- name: database_time
-- The time by which rows are stamped.
SELECT now();

-- name: job_schedule
-- Makes up to @limit rows available that fall due before @horizon. Of rows with one unique key the
-- one that holds the key wins, else the first in order; without a free key a row is discarded, or put
-- off where even a discarded row would break the key. One result row a queue.
WITH due AS MATERIALIZED (
    SELECT id, state, priority, scheduled_at, unique_key, unique_states
    FROM /* TEMPLATE: schema */river_job
    WHERE state IN ('retryable', 'scheduled')
      AND scheduled_at <= @horizon::text::timestamptz
    ORDER BY priority, scheduled_at, id
    LIMIT @limit::bigint
    FOR UPDATE
), contender AS MATERIALIZED (
    SELECT
        id,
        unique_key,
        /* TEMPLATE: schema */river_job_state_in_bitmask(unique_states, 'discarded') AS kept_when_discarded,
        row_number() OVER (
            PARTITION BY unique_key
            ORDER BY
                /* TEMPLATE: schema */river_job_state_in_bitmask(unique_states, state) DESC,
                priority,
                scheduled_at,
                id
        ) AS place
    FROM due
    WHERE unique_key IS NOT NULL AND unique_states IS NOT NULL
), fate AS (
    SELECT id, 'available' AS verdict
    FROM due
    WHERE unique_key IS NULL OR unique_states IS NULL
    UNION ALL
    SELECT
        id,
        CASE
            WHEN place = 1 AND NOT EXISTS (
                SELECT
                FROM /* TEMPLATE: schema */river_job AS holder
                WHERE holder.unique_key = contender.unique_key
                  AND holder.unique_key IS NOT NULL
                  AND holder.unique_states IS NOT NULL
                  AND /* TEMPLATE: schema */river_job_state_in_bitmask(holder.unique_states, holder.state)
                  AND holder.id NOT IN (SELECT id FROM due)
            ) THEN 'available'
            WHEN kept_when_discarded THEN 'put off'
            ELSE 'discarded'
        END
    FROM contender
), changed AS (
    UPDATE /* TEMPLATE: schema */river_job
    SET state = CASE
            WHEN verdict = 'put off' THEN state
            ELSE verdict::/* TEMPLATE: schema */river_job_state
        END,
        finalized_at = CASE
            WHEN verdict = 'discarded' THEN coalesce(@now::text::timestamptz, now())
        END,
        scheduled_at = CASE
            WHEN verdict = 'put off' THEN coalesce(@now::text::timestamptz, now()) + interval '60 seconds'
            ELSE scheduled_at
        END,
        metadata = CASE
            WHEN verdict = 'discarded' THEN metadata || '{"unique_key_conflict": "scheduler_discarded"}'
            ELSE metadata
        END
    FROM fate
    WHERE river_job.id = fate.id
    RETURNING
        queue,
        verdict,
        verdict = 'available'
            AND scheduled_at <= coalesce(@now::text::timestamptz, now()) + interval '5 milliseconds' AS startable
)
SELECT
    queue,
    count(*) FILTER (WHERE verdict = 'available'),
    count(*) FILTER (WHERE verdict = 'discarded'),
    count(*) FILTER (WHERE verdict = 'put off'),
    count(*) FILTER (WHERE startable)
FROM changed
GROUP BY queue;

-- name: job_get_stuck
-- Running rows that were claimed before @horizon, by id from behind @after.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE state = 'running'
  AND attempted_at < @horizon::text::timestamptz
  AND id > @after::bigint
ORDER BY id
LIMIT @limit::bigint;

-- name: job_rescue_many
-- Writes the verdicts of @rescues, each only while its row is still the same attempt of the same client
-- and was not refreshed since.
WITH rescue AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset(@rescues::text::jsonb) AS input (
        id bigint,
        attempt int,
        client_id text,
        state text,
        finalized_at timestamptz,
        scheduled_at timestamptz,
        error jsonb
    )
), locked AS MATERIALIZED (
    SELECT river_job.id
    FROM /* TEMPLATE: schema */river_job
    JOIN rescue ON rescue.id = river_job.id
    WHERE river_job.state = 'running'
      AND river_job.attempt = rescue.attempt
      AND river_job.attempted_by[array_upper(river_job.attempted_by, 1)] IS NOT DISTINCT FROM rescue.client_id
      AND river_job.attempted_at < @horizon::text::timestamptz
    ORDER BY river_job.id
    FOR UPDATE OF river_job
)
UPDATE /* TEMPLATE: schema */river_job
SET state = rescue.state::/* TEMPLATE: schema */river_job_state,
    finalized_at = rescue.finalized_at,
    scheduled_at = coalesce(rescue.scheduled_at, river_job.scheduled_at),
    errors = array_append(/* INCLUDE: errors_before */, rescue.error),
    metadata = /* INCLUDE: counted_rescue */
FROM locked
JOIN rescue ON rescue.id = locked.id
WHERE river_job.id = locked.id
RETURNING river_job.id, river_job.queue, river_job.state::text;

-- name: errors_before
-- Fragment: the error history that the next error is appended to. One of several dimensions, which takes
-- no further element, is kept as the text of one error.
CASE
    WHEN array_ndims(river_job.errors) > 1 THEN ARRAY[jsonb_build_object(
        'at', '0001-01-01T00:00:00Z',
        'attempt', 0,
        'error', to_jsonb(river_job.errors)::text,
        'trace', ''
    )]
    ELSE river_job.errors
END;

-- name: rescue_number
-- Fragment: how many rescues the row has behind it with this one; what is no number counts as none.
CASE
    WHEN jsonb_typeof(river_job.metadata -> 'river:rescue_count') = 'number'
        THEN floor((river_job.metadata ->> 'river:rescue_count')::numeric)
    ELSE 0
END + 1

-- name: counted_rescue
-- Fragment: the metadata with one rescue more. A value that is no object stays as it is.
CASE
    WHEN jsonb_typeof(river_job.metadata) = 'object'
        THEN river_job.metadata || jsonb_build_object('river:rescue_count', /* INCLUDE: rescue_number */)
    ELSE river_job.metadata
END

-- name: snapshot_get_oldest
-- What keeps dead rows from being removed, the oldest first: sessions and prepared transactions for more than
-- @seconds, replicas and slots for more than @transactions. Name, seconds, details and the way out of each.
SELECT name, seconds, details, way_out
FROM (
    SELECT
        format('session %s', pid) AS name,
        extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds,
        format('user %s, application %s, %s', usename, application_name, state) AS details,
        format('SELECT pg_terminate_backend(%s)', pid) AS way_out,
        age(backend_xmin)::bigint AS transactions
    FROM pg_catalog.pg_stat_activity
    WHERE backend_xmin IS NOT NULL
      AND pid <> pg_backend_pid()
      AND (datname = current_database() OR datname IS NULL)
      AND backend_type <> 'autovacuum worker'
    UNION ALL
    SELECT
        format('prepared transaction %s', gid),
        extract(epoch FROM clock_timestamp() - prepared)::float8,
        format('user %s', owner),
        format('COMMIT PREPARED or ROLLBACK PREPARED %L', gid),
        age(transaction)::bigint
    FROM pg_catalog.pg_prepared_xacts
    WHERE database = current_database()
    UNION ALL
    SELECT
        format('replication slot %s', slot_name),
        NULL,
        CASE WHEN active THEN 'active' ELSE 'not in use' END,
        'drop the slot, or let its replica catch up',
        age(xmin)::bigint
    FROM pg_catalog.pg_replication_slots
    WHERE xmin IS NOT NULL
) AS holder
WHERE CASE WHEN seconds IS NULL THEN transactions > @transactions::bigint ELSE seconds > @seconds::float8 END
ORDER BY transactions DESC
LIMIT 5;

-- name: job_delete_before
-- Deletes up to @limit finished rows past the retention of their state; a time of NULL keeps a state.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id IN (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE (state = 'cancelled' AND finalized_at < @cancelled_before::text::timestamptz)
       OR (state = 'completed' AND finalized_at < @completed_before::text::timestamptz)
       OR (state = 'discarded' AND finalized_at < @discarded_before::text::timestamptz)
    ORDER BY id
    LIMIT @limit::bigint
    FOR UPDATE SKIP LOCKED
)
RETURNING id;

-- name: queue_delete_expired
-- Deletes up to @limit queue rows that no client has reported since @horizon.
DELETE FROM /* TEMPLATE: schema */river_queue
WHERE name IN (
    SELECT name
    FROM /* TEMPLATE: schema */river_queue
    WHERE updated_at < @horizon::text::timestamptz
    ORDER BY name
    LIMIT @limit::bigint
)
RETURNING name;

-- name: notification_delete_before
-- Deletes up to @limit outbox rows made before @horizon.
DELETE FROM /* TEMPLATE: schema */river_notification
WHERE id IN (
    SELECT id
    FROM /* TEMPLATE: schema */river_notification
    WHERE created_at < @horizon::text::timestamptz
    ORDER BY id
    LIMIT @limit::bigint
)
RETURNING id;
