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
-- Rows are looked up by `= ANY (ARRAY[...])` because a plain `=` may be planned as a read of the whole table
-- while statistics are older than the load, as those of a queue mostly are.
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
    WHERE river_job.id = ANY (ARRAY[due.id])
    RETURNING /* INCLUDE: job_columns */
)
SELECT claimed.*, NULL::float8
FROM claimed
WHERE /* INCLUDE: claim_commit */
UNION ALL
SELECT
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    (/* INCLUDE: job_next_due */)
WHERE (SELECT count(*) FROM due) < @limit::bigint;

-- name: claim_commit
-- Fragment: whether a claimed row is given, and a place for what decides how it is committed.
true;

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
-- Locks, in id order, the rows of @outcomes that are still this client's running attempts, and tells which of them carry a
-- cancellation mark.
SELECT river_job.id, jsonb_exists(river_job.metadata, 'cancel_attempted_at')
FROM /* TEMPLATE: schema */river_job
JOIN jsonb_to_recordset(@outcomes::text::jsonb) AS outcome (id bigint, attempt int)
    ON river_job.id = ANY (ARRAY[outcome.id])
WHERE /* INCLUDE: job_is_attempt */
ORDER BY river_job.id
FOR UPDATE OF river_job;

-- name: job_is_attempt
-- Fragment: whether a row is still this client's running attempt of `outcome`. CASE keeps the planner from joining
-- by anything but the id, and from walking all running rows.
CASE
    WHEN river_job.state = 'running' THEN river_job.attempt = outcome.attempt
        AND river_job.attempted_by[array_upper(river_job.attempted_by, 1)] = @client_id::text
    ELSE false
END;

-- name: job_set_completed_if_running_many
-- Completes running attempts; the four parameters are arrays with one element an attempt. It is what the next
-- statement does for mere successes, at two thirds of its price; rows that do not run any more are left to that.
-- Inside of SELECT the planner does not see how long they are, so it does not plan anew for each execution, which
-- takes longer than to complete one row.
WITH updated AS (
    UPDATE /* TEMPLATE: schema */river_job
    SET state = 'completed',
        finalized_at = outcome.finalized_at,
        metadata = CASE
            WHEN outcome.metadata IS NULL THEN river_job.metadata
            ELSE river_job.metadata || outcome.metadata
        END
    FROM unnest(
        (SELECT @ids::text::bigint[]),
        (SELECT @attempts::text::int[]),
        (SELECT @finalized_at::text::timestamptz[]),
        (SELECT @metadata::text::jsonb[])
    ) AS outcome (id, attempt, finalized_at, metadata)
    WHERE river_job.id = ANY (ARRAY[outcome.id])
      AND /* INCLUDE: job_is_attempt */
    RETURNING river_job.id
)
SELECT id FROM updated
UNION ALL
SELECT NULL
FROM (SELECT pg_notify(coalesce(@schema::text, current_schema()) || '.river_python_done', @payload::text) WHERE @payload::text IS NOT NULL) AS sent;

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
        outcome.*,
        river_job.state = 'running' AS running,
        river_job.state = 'running'
            AND outcome.finalized_at IS NULL
            AND jsonb_exists(river_job.metadata, 'cancel_attempted_at') AS cancelling
    FROM /* TEMPLATE: schema */river_job
    JOIN outcome ON river_job.id = ANY (ARRAY[outcome.id])
    WHERE CASE
            WHEN river_job.state = 'running' OR river_job.finalized_at IS NOT NULL THEN river_job.attempt = outcome.attempt
                AND river_job.attempted_by[array_upper(river_job.attempted_by, 1)] = @client_id::text
            ELSE false
        END
    ORDER BY river_job.id
    FOR UPDATE OF river_job
), updated AS (
    UPDATE /* TEMPLATE: schema */river_job
    SET state = CASE
            WHEN NOT owned.running THEN river_job.state
            WHEN owned.cancelling THEN 'cancelled'
            ELSE owned.state::/* TEMPLATE: schema */river_job_state
        END,
        finalized_at = CASE
            WHEN NOT owned.running THEN river_job.finalized_at
            WHEN owned.cancelling THEN now()
            ELSE owned.finalized_at
        END,
        scheduled_at = CASE
            WHEN owned.running AND NOT owned.cancelling THEN coalesce(owned.scheduled_at, river_job.scheduled_at)
            ELSE river_job.scheduled_at
        END,
        attempt = CASE
            WHEN owned.running AND NOT owned.cancelling THEN coalesce(owned.new_attempt, river_job.attempt)
            ELSE river_job.attempt
        END,
        errors = CASE
            WHEN owned.running AND owned.error IS NOT NULL THEN array_append(/* INCLUDE: errors_before */, owned.error)
            ELSE river_job.errors
        END,
        metadata = CASE
            WHEN owned.metadata IS NULL THEN river_job.metadata
            ELSE river_job.metadata || owned.metadata
        END
    FROM owned
    WHERE river_job.id = ANY (ARRAY[owned.id])
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
WHERE id = ANY (ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(@ids::text::jsonb)))
  AND state = 'running'
  AND jsonb_exists(metadata, 'cancel_attempted_at');

-- name: job_list_running
-- What runs under this client, as the database knows it: id, attempt and queue.
SELECT id, attempt, queue
FROM /* TEMPLATE: schema */river_job
WHERE state = 'running'
  AND attempted_by[array_upper(attempted_by, 1)] = @client_id::text;
