-- name: ping
-- Proves that a connection still answers.
SELECT 1;

-- name: job_get_available
-- Claims up to @limit due jobs of one queue in order of priority, time and id, of those only that have more
-- than @spare attempts left.
WITH due AS MATERIALIZED (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE state = 'available'
      AND queue = @queue::text
      AND scheduled_at <= coalesce(@now::text::timestamptz, now())
      AND max_attempts::int - attempt::int > @spare::bigint
    ORDER BY priority, scheduled_at, id
    LIMIT @limit::bigint
    FOR UPDATE SKIP LOCKED
)
/* INCLUDE: claim_due */;

-- name: job_get_available_of_kinds
-- The same for known kinds only; @kinds is a comma-joined list (no kind holds a comma).
WITH due AS MATERIALIZED (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE state = 'available'
      AND queue = @queue::text
      AND scheduled_at <= coalesce(@now::text::timestamptz, now())
      AND max_attempts::int - attempt::int > @spare::bigint
      AND kind = ANY ((SELECT string_to_array(@kinds::text, ','))::text[])
    ORDER BY priority, scheduled_at, id
    LIMIT @limit::bigint
    FOR UPDATE SKIP LOCKED
)
/* INCLUDE: claim_due */;

-- name: claim_due
-- Fragment: marks the rows of `due` as running for this client; attempted_by keeps the last 100 names. When
-- fewer than @limit were due, a last row without an id tells in how many seconds the next one will be.
, claimed AS (
    UPDATE /* TEMPLATE: schema */river_job
    SET state = 'running',
        attempt = least(attempt::int + 1, 32767),
        attempted_at = coalesce(@now::text::timestamptz, now()),
        attempted_by = array_append(
            CASE
                WHEN array_ndims(attempted_by) > 1 THEN NULL
                WHEN cardinality(attempted_by) >= 100 THEN attempted_by[array_upper(attempted_by, 1) - 98:]
                ELSE attempted_by
            END,
            @client_id::text
        )
    FROM due
    WHERE river_job.id = due.id
    RETURNING /* INCLUDE: job_columns */
)
SELECT claimed.*, NULL::float8
FROM claimed
UNION ALL
SELECT
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    (/* INCLUDE: job_next_due */)
WHERE (SELECT count(*) FROM due) < @limit::bigint;

-- name: job_next_due
-- Seconds until the next available job of a queue falls due, one index probe a priority.
SELECT extract(epoch FROM min(next.scheduled_at) - now())::float8
FROM generate_series(1, 4) AS level (priority),
    LATERAL (
        SELECT scheduled_at
        FROM /* TEMPLATE: schema */river_job
        WHERE state = 'available'
          AND queue = @queue::text
          AND river_job.priority = level.priority
          AND scheduled_at > now()
        ORDER BY scheduled_at
        LIMIT 1
    ) AS next;

-- name: job_lock_running_many
-- Locks, in id order, the rows of @outcomes that are still this client's running attempts.
SELECT river_job.id
FROM /* TEMPLATE: schema */river_job
JOIN jsonb_to_recordset(@outcomes::text::jsonb) AS outcome (id bigint, attempt int) ON outcome.id = river_job.id
WHERE river_job.state = 'running'
  AND river_job.attempt = outcome.attempt
  AND river_job.attempted_by[array_upper(river_job.attempted_by, 1)] = @client_id::text
ORDER BY river_job.id
FOR UPDATE OF river_job;

-- name: job_set_state_if_running_many
-- Writes the ends of many attempts. Only the claim that is still running changes its row; a row that
-- was finalized meanwhile, in the same attempt, only takes the metadata. A final state wins over a
-- cancellation mark, any other state gives way to it. Sends @payload, if any, to whoever waits for results.
WITH outcome AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset(@outcomes::text::jsonb) AS input (
        id bigint,
        attempt int,
        state text,
        finalized_at timestamptz,
        scheduled_at timestamptz,
        new_attempt int,
        error jsonb,
        metadata jsonb
    )
), owned AS MATERIALIZED (
    SELECT
        river_job.id,
        river_job.state = 'running' AS running,
        river_job.state = 'running'
            AND outcome.finalized_at IS NULL
            AND jsonb_exists(river_job.metadata, 'cancel_attempted_at') AS cancelling
    FROM /* TEMPLATE: schema */river_job
    JOIN outcome ON outcome.id = river_job.id
    WHERE river_job.attempt = outcome.attempt
      AND river_job.attempted_by[array_upper(river_job.attempted_by, 1)] = @client_id::text
      AND (river_job.state = 'running' OR river_job.finalized_at IS NOT NULL)
    ORDER BY river_job.id
    FOR UPDATE OF river_job
), updated AS (
    UPDATE /* TEMPLATE: schema */river_job
    SET state = CASE
            WHEN NOT owned.running THEN river_job.state
            WHEN owned.cancelling THEN 'cancelled'
            ELSE outcome.state::/* TEMPLATE: schema */river_job_state
        END,
        finalized_at = CASE
            WHEN NOT owned.running THEN river_job.finalized_at
            WHEN owned.cancelling THEN now()
            ELSE outcome.finalized_at
        END,
        scheduled_at = CASE
            WHEN owned.running AND NOT owned.cancelling THEN coalesce(outcome.scheduled_at, river_job.scheduled_at)
            ELSE river_job.scheduled_at
        END,
        attempt = CASE
            WHEN owned.running AND NOT owned.cancelling THEN coalesce(outcome.new_attempt, river_job.attempt)
            ELSE river_job.attempt
        END,
        errors = CASE
            WHEN owned.running AND outcome.error IS NOT NULL THEN array_append(/* INCLUDE: errors_before */, outcome.error)
            ELSE river_job.errors
        END,
        metadata = CASE
            WHEN outcome.metadata IS NULL THEN river_job.metadata
            ELSE river_job.metadata || outcome.metadata
        END
    FROM owned
    JOIN outcome ON outcome.id = owned.id
    WHERE river_job.id = owned.id
    RETURNING river_job.id, river_job.state::text
)
SELECT id, state FROM updated
UNION ALL
SELECT NULL, NULL
FROM (SELECT pg_notify(coalesce(@schema::text, current_schema()) || '.river_python_done', @payload::text) WHERE @payload::text IS NOT NULL) AS sent;

-- name: job_get_cancelled_many
-- Which of the running jobs @ids (a JSON array) carry a cancellation mark.
SELECT id
FROM /* TEMPLATE: schema */river_job
WHERE id IN (SELECT value::bigint FROM jsonb_array_elements_text(@ids::text::jsonb))
  AND state = 'running'
  AND jsonb_exists(metadata, 'cancel_attempted_at');

-- name: job_list_running
-- What runs under this client, as the database knows it: id, attempt and queue.
SELECT id, attempt, queue
FROM /* TEMPLATE: schema */river_job
WHERE state = 'running'
  AND attempted_by[array_upper(attempted_by, 1)] = @client_id::text;
