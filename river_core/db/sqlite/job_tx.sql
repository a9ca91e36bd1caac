-- name: job_lock_attempt
-- Tells what a running attempt must know of its row before it writes: its state, attempt, last client and
-- metadata. The change of nothing takes the write lock first: a transaction that has begun by reading cannot
-- write any more once somebody else has.
UPDATE /* TEMPLATE: schema */river_job
SET attempt = attempt
WHERE id = @id
RETURNING
    state,
    attempt,
    json_extract(river_json(attempted_by), '$[#-1]'),
    river_json(metadata);

-- name: job_complete_attempt
-- Completes a row that is still this running attempt; @metadata replaces the whole.
UPDATE /* TEMPLATE: schema */river_job
SET state = 'completed',
    finalized_at = @finalized_at,
    metadata = jsonb(@metadata)
WHERE id = @id
  AND state = 'running'
  AND attempt = @attempt
  AND json_extract(river_json(attempted_by), '$[#-1]') = @client_id
RETURNING /* INCLUDE: job_columns */;

-- name: job_set_attempt_metadata
-- Writes the whole metadata of a row that is still this running attempt.
UPDATE /* TEMPLATE: schema */river_job
SET metadata = jsonb(@metadata)
WHERE id = @id
  AND state = 'running'
  AND attempt = @attempt
  AND json_extract(river_json(attempted_by), '$[#-1]') = @client_id
RETURNING id;

-- name: job_delete_running_many
-- Deletes the rows of @outcomes that are still this client's running attempts.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id IN (
    SELECT job.id
    FROM json_each(@outcomes) AS outcome
    JOIN /* TEMPLATE: schema */river_job AS job ON job.id = json_extract(outcome.value, '$.id')
    WHERE job.state = 'running'
      AND job.attempt = json_extract(outcome.value, '$.attempt')
      AND json_extract(river_json(job.attempted_by), '$[#-1]') = @client_id
)
RETURNING id;
