-- name: job_lock_attempt
-- Locks a row and tells what a running attempt must know of it before it writes: its state, attempt, last
-- client and metadata.
SELECT
    state::text,
    attempt,
    attempted_by[array_upper(attempted_by, 1)],
    metadata::text
FROM /* TEMPLATE: schema */river_job
WHERE id = @id::bigint
FOR UPDATE;

-- name: job_complete_attempt
-- Completes a row that is still this running attempt; @metadata replaces the whole.
UPDATE /* TEMPLATE: schema */river_job
SET state = 'completed',
    finalized_at = @finalized_at::text::timestamptz,
    metadata = @metadata::text::jsonb
WHERE id = @id::bigint
  AND state = 'running'
  AND attempt = @attempt::int
  AND attempted_by[array_upper(attempted_by, 1)] = @client_id::text
RETURNING /* INCLUDE: job_columns */;

-- name: job_set_attempt_metadata
-- Writes the whole metadata of a row that is still this running attempt.
UPDATE /* TEMPLATE: schema */river_job
SET metadata = @metadata::text::jsonb
WHERE id = @id::bigint
  AND state = 'running'
  AND attempt = @attempt::int
  AND attempted_by[array_upper(attempted_by, 1)] = @client_id::text
RETURNING id;

-- name: job_delete_running_many
-- Deletes the rows of @outcomes that are still this client's running attempts.
DELETE FROM /* TEMPLATE: schema */river_job
USING jsonb_to_recordset(@outcomes::text::jsonb) AS outcome (id bigint, attempt int)
WHERE river_job.id = ANY (ARRAY[outcome.id])
  AND /* INCLUDE: job_is_attempt */
RETURNING river_job.id;
