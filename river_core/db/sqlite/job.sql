-- name: job_columns
-- Fragment: the columns of a job in the order of JobRow's fields. The casts keep a caller's converters
-- for declared types away; the nonce that tells duplicates is no business of readers.
    river_job.id,
    river_job.state,
    river_job.attempt,
    river_job.max_attempts,
    CAST(river_job.attempted_at AS text),
    CAST(river_job.created_at AS text),
    CAST(river_job.finalized_at AS text),
    CAST(river_job.scheduled_at AS text),
    river_job.priority,
    river_job.queue,
    river_job.kind,
    river_json(river_job.args),
    json_remove(river_json(river_job.metadata), '$."river:unique_nonce"'),
    river_json(river_job.tags),
    river_json(river_job.errors),
    river_json(river_job.attempted_by),
    river_job.unique_key,
    river_job.unique_states;

-- name: job_get_by_id
-- Reads one job.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE id = @id;

-- name: job_get_by_id_many
-- Reads the jobs of @ids, a JSON array, in order of id.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE id IN (SELECT value FROM json_each(@ids))
ORDER BY id;

-- name: job_cancel
-- Marks an unfinished job as cancelled by @attempted_at, RFC 3339 text, and finishes it unless it runs.
-- A finished job stays as it is.
UPDATE /* TEMPLATE: schema */river_job
SET finalized_at = CASE
        WHEN state IN ('available', 'pending', 'retryable', 'scheduled')
            THEN coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
        ELSE finalized_at
    END,
    metadata = CASE
        WHEN finalized_at IS NULL
            THEN jsonb(json_set(river_json(metadata), '$.cancel_attempted_at', @attempted_at))
        ELSE metadata
    END,
    state = CASE
        WHEN state IN ('available', 'pending', 'retryable', 'scheduled') THEN 'cancelled'
        ELSE state
    END
WHERE id = @id
RETURNING /* INCLUDE: job_columns */;

-- name: job_retry
-- Makes a job available now, without a cancellation mark and with an attempt left. Gives no row for a job
-- that runs, that is due already, or that has no further attempt number.
UPDATE /* TEMPLATE: schema */river_job
SET state = 'available',
    scheduled_at = coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    finalized_at = NULL,
    max_attempts = max(max_attempts, attempt + 1),
    metadata = jsonb(json_remove(river_json(metadata), '$.cancel_attempted_at'))
WHERE id = @id
  AND state <> 'running'
  AND NOT (state = 'available' AND scheduled_at <= coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now')))
  AND attempt < 32767
RETURNING /* INCLUDE: job_columns */;

-- name: job_retry_as_go
-- The same as Go does it: the cancellation mark stays, and there is always a further attempt number.
UPDATE /* TEMPLATE: schema */river_job
SET state = 'available',
    scheduled_at = coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    finalized_at = NULL,
    max_attempts = max(max_attempts, attempt + 1)
WHERE id = @id
  AND state <> 'running'
  AND NOT (state = 'available' AND scheduled_at <= coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now')))
RETURNING /* INCLUDE: job_columns */;

-- name: job_delete
-- Deletes a job that does not run.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id = @id
  AND state <> 'running'
RETURNING /* INCLUDE: job_columns */;
