-- name: ping
-- Proves that a connection still answers.
SELECT 1;

-- name: job_get_available
-- Claims up to @limit due jobs of one queue in order of priority, time and id, of those only that have more
-- than @spare attempts left.
UPDATE /* TEMPLATE: schema */river_job
SET /* INCLUDE: claim_due */
WHERE id IN (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE state = 'available'
      AND queue = @queue
      AND scheduled_at <= coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
      AND max_attempts - attempt > @spare
    ORDER BY priority, scheduled_at, id
    LIMIT @limit
)
RETURNING /* INCLUDE: job_columns */;

-- name: job_get_available_of_kinds
-- The same for known kinds only; @kinds is a comma-joined list (no kind holds a comma).
UPDATE /* TEMPLATE: schema */river_job
SET /* INCLUDE: claim_due */
WHERE id IN (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE state = 'available'
      AND queue = @queue
      AND scheduled_at <= coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
      AND max_attempts - attempt > @spare
      AND instr(',' || @kinds || ',', ',' || kind || ',') > 0
    ORDER BY priority, scheduled_at, id
    LIMIT @limit
)
RETURNING /* INCLUDE: job_columns */;

-- name: claim_due
-- Fragment: what a claim changes; attempted_by keeps the last 100 names. The array is put together as
-- text because functions registered from outside cannot mark their result as JSON for SQLite's own.
    state = 'running',
    attempt = attempt + 1,
    attempted_at = coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    attempted_by = jsonb(
        CASE
            WHEN attempted_by IS NULL OR json_array_length(river_json(attempted_by)) = 0 THEN '['
            WHEN json_array_length(river_json(attempted_by)) < 100 THEN rtrim(river_json(attempted_by), ']') || ','
            ELSE (
                SELECT '[' || group_concat(json_quote(value), ',') || ','
                FROM (
                    SELECT value
                    FROM json_each(river_json(attempted_by))
                    WHERE key >= json_array_length(river_json(attempted_by)) - 99
                    ORDER BY key
                )
            )
        END || json_quote(@client_id) || ']'
    );

-- name: job_next_due
-- Seconds until the next available job of a queue falls due, one index probe a priority.
SELECT (julianday(min(scheduled_at)) - julianday('now')) * 86400.0
FROM (
    SELECT (
        SELECT scheduled_at
        FROM /* TEMPLATE: schema */river_job
        WHERE state = 'available'
          AND queue = @queue
          AND priority = level.column1
          AND scheduled_at > strftime('%Y-%m-%d %H:%M:%f', 'now')
        ORDER BY scheduled_at
        LIMIT 1
    ) AS scheduled_at
    FROM (VALUES (1), (2), (3), (4)) AS level
);

-- name: job_lock_running_many
-- The rows of @outcomes that are still this client's running attempts, and which of them carry a cancellation mark; the
-- write transaction locks them.
SELECT river_job.id, json_type(river_json(river_job.metadata), '$.cancel_attempted_at') IS NOT NULL
FROM json_each(@outcomes) AS outcome
JOIN /* TEMPLATE: schema */river_job ON river_job.id = json_extract(outcome.value, '$.id')
WHERE river_job.state = 'running'
  AND river_job.attempt = json_extract(outcome.value, '$.attempt')
  AND json_extract(river_json(river_job.attempted_by), '$[#-1]') = @client_id
ORDER BY river_job.id;

-- name: job_set_completed_if_running_many
-- Completes running attempts. It is what the next statement does for mere successes, at less cost; rows that do
-- not run any more are left to that.
WITH outcome AS MATERIALIZED (
    SELECT
        json_extract(input.value, '$.id') AS id,
        json_extract(input.value, '$.attempt') AS attempt,
        json_extract(input.value, '$.finalized_at') AS finalized_at,
        json_extract(input.value, '$.metadata') AS metadata
    FROM json_each(@outcomes) AS input
)
UPDATE /* TEMPLATE: schema */river_job
SET state = 'completed',
    finalized_at = outcome.finalized_at,
    metadata = CASE
        WHEN outcome.metadata IS NULL THEN river_job.metadata
        ELSE jsonb(river_merge(river_json(river_job.metadata), outcome.metadata))
    END
FROM outcome
WHERE river_job.id = outcome.id
  AND river_job.state = 'running'
  AND river_job.attempt = outcome.attempt
  AND json_extract(river_json(river_job.attempted_by), '$[#-1]') = @client_id
RETURNING id;

-- name: job_set_state_if_running_many
-- Writes the ends of many attempts. Only the claim that is still running changes its row; a row that
-- was finalized meanwhile, in the same attempt, only takes the metadata. A final state wins over a
-- cancellation mark, any other state gives way to it. `river_merge` merges two objects shallowly and
-- keeps every digit. (@schema and @payload belong to the Postgres statement; here an outbox row is written apart.)
WITH outcome AS MATERIALIZED (
    SELECT
        json_extract(input.value, '$.id') AS id,
        json_extract(input.value, '$.attempt') AS attempt,
        json_extract(input.value, '$.state') AS state,
        json_extract(input.value, '$.finalized_at') AS finalized_at,
        json_extract(input.value, '$.scheduled_at') AS scheduled_at,
        json_extract(input.value, '$.new_attempt') AS new_attempt,
        json_extract(input.value, '$.error') AS error,
        json_extract(input.value, '$.metadata') AS metadata
    FROM json_each(@outcomes) AS input
), owned AS MATERIALIZED (
    SELECT
        outcome.*,
        river_job.state = 'running' AS running,
        river_job.state = 'running'
            AND outcome.finalized_at IS NULL
            AND json_type(river_json(river_job.metadata), '$.cancel_attempted_at') IS NOT NULL AS cancelling
    FROM outcome
    JOIN /* TEMPLATE: schema */river_job ON river_job.id = outcome.id
    WHERE river_job.attempt = outcome.attempt
      AND json_extract(river_json(river_job.attempted_by), '$[#-1]') = @client_id
      AND (river_job.state = 'running' OR river_job.finalized_at IS NOT NULL)
)
UPDATE /* TEMPLATE: schema */river_job
SET state = CASE
        WHEN NOT owned.running THEN river_job.state
        WHEN owned.cancelling THEN 'cancelled'
        ELSE owned.state
    END,
    finalized_at = CASE
        WHEN NOT owned.running THEN river_job.finalized_at
        WHEN owned.cancelling THEN strftime('%Y-%m-%d %H:%M:%f', 'now')
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
        WHEN NOT owned.running OR owned.error IS NULL THEN river_job.errors
        ELSE jsonb(/* INCLUDE: errors_before */ || owned.error || ']')
    END,
    metadata = CASE
        WHEN owned.metadata IS NULL THEN river_job.metadata
        ELSE jsonb(river_merge(river_json(river_job.metadata), owned.metadata))
    END
FROM owned
WHERE river_job.id = owned.id
RETURNING id, state;

-- name: job_get_cancelled_many
-- Which of the running jobs @ids (a JSON array) carry a cancellation mark.
SELECT id
FROM /* TEMPLATE: schema */river_job
WHERE id IN (SELECT value FROM json_each(@ids))
  AND state = 'running'
  AND json_type(river_json(metadata), '$.cancel_attempted_at') IS NOT NULL;

-- name: job_list_running
-- What runs under this client, as the database knows it: id, attempt and queue.
SELECT id, attempt, queue
FROM /* TEMPLATE: schema */river_job
WHERE state = 'running'
  AND json_extract(river_json(attempted_by), '$[#-1]') = @client_id;
