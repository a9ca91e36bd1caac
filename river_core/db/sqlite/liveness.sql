-- name: client_list_running
-- Every client of other name with @marker that has running rows. Whether its lock is held is not the
-- database's knowledge, and there is no server with an age.
SELECT id, 0, NULL
FROM (
    SELECT DISTINCT json_extract(river_json(attempted_by), '$[#-1]') AS id
    FROM /* TEMPLATE: schema */river_job
    WHERE state = 'running'
)
WHERE substr(id, -length(@marker)) = @marker
  AND id <> @client_id;

-- name: job_recover
-- Gives up to @limit running rows of the dead @clients (a JSON array) back, by id from behind @after.
-- The first three crashes cost no time, later ones min(n^4, 300) s and half of that more or
-- less, so that jobs which went down with a poisonous neighbour do not meet it again; a cancelled row ends, and so does
-- one whose attempts, or @max_crashes, are used up.
WITH stranded AS MATERIALIZED (
    SELECT
        id,
        json_extract(river_json(attempted_by), '$[#-1]') AS client_id,
        /* INCLUDE: rescue_number */ AS crash
    FROM /* TEMPLATE: schema */river_job
    WHERE state = 'running'
      AND json_extract(river_json(attempted_by), '$[#-1]') IN (SELECT value FROM json_each(@clients))
      AND id > @after
    ORDER BY id
    LIMIT @limit
), decided AS MATERIALIZED (
    SELECT
        stranded.id,
        client_id,
        crash,
        CASE
            WHEN json_type(river_json(metadata), '$.cancel_attempted_at') IS NOT NULL THEN 'cancelled'
            WHEN attempt >= max_attempts OR crash >= @max_crashes THEN 'discarded'
            WHEN crash <= 3 THEN 'available'
            ELSE 'retryable'
        END AS verdict
    FROM stranded
    JOIN /* TEMPLATE: schema */river_job ON river_job.id = stranded.id
)
UPDATE /* TEMPLATE: schema */river_job
SET state = decided.verdict,
    finalized_at = CASE
        WHEN decided.verdict IN ('cancelled', 'discarded')
            THEN coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
    END,
    scheduled_at = CASE
        WHEN decided.verdict = 'retryable' THEN strftime(
            '%Y-%m-%d %H:%M:%f',
            coalesce(@now, 'now'),
            (
                CASE WHEN crash < 5 THEN crash * crash * crash * crash ELSE 300 END
                * (0.5 + abs(random() % 1000) / 1000.0)
            ) || ' seconds'
        )
        ELSE scheduled_at
    END,
    errors = jsonb(/* INCLUDE: errors_before */ || json_object(
        'at', @at,
        'attempt', attempt,
        'error', 'Worker lost: client ' || decided.client_id || ' holds no lock any more',
        'trace', ''
    ) || ']'),
    metadata = /* INCLUDE: counted_rescue */
FROM decided
WHERE river_job.id = decided.id
RETURNING id, queue, state;

-- name: job_refresh_attempts
-- Moves attempted_at of this client's running rows @ids (a JSON array) that were claimed before @horizon,
-- so that no rescuer takes a living task for stuck. The attempt's true start is kept in metadata.
UPDATE /* TEMPLATE: schema */river_job
SET attempted_at = coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    metadata = CASE
        WHEN json_extract(river_json(metadata), '$.python_attempted_at.attempt') = attempt THEN metadata
        ELSE jsonb(json_set(
            river_json(metadata),
            '$.python_attempted_at',
            json_object('attempt', attempt, 'at', replace(attempted_at, ' ', 'T') || 'Z')
        ))
    END
WHERE id IN (SELECT value FROM json_each(@ids))
  AND state = 'running'
  AND json_extract(river_json(attempted_by), '$[#-1]') = @client_id
  AND attempted_at < @horizon
RETURNING id;
