-- name: job_columns
-- Fragment: the columns of a job in the order of JobRow's fields. Times are bounded to what every language
-- can hold: infinity in one row must not fail the claim of its neighbours.
    river_job.id,
    river_job.state::text,
    river_job.attempt,
    river_job.max_attempts,
    CASE
        WHEN river_job.attempted_at IS NOT NULL
            THEN greatest(least(river_job.attempted_at, '9999-12-31 00:00:00+00'), '0001-01-02 00:00:00+00')
    END,
    /* INCLUDE: job_created_at */,
    CASE
        WHEN river_job.finalized_at IS NOT NULL
            THEN greatest(least(river_job.finalized_at, '9999-12-31 00:00:00+00'), '0001-01-02 00:00:00+00')
    END,
    /* INCLUDE: job_scheduled_at */,
    river_job.priority,
    river_job.queue,
    river_job.kind,
    river_job.args::text,
    /* INCLUDE: job_metadata */,
    to_jsonb(river_job.tags)::text,
    to_jsonb(river_job.errors)::text,
    to_jsonb(river_job.attempted_by)::text,
    river_job.unique_key,
    river_job.unique_states::integer;

-- name: job_created_at
-- Fragment: when a job was created, bounded.
greatest(least(river_job.created_at, '9999-12-31 00:00:00+00'), '0001-01-02 00:00:00+00');

-- name: job_scheduled_at
-- Fragment: when a job is due, bounded.
greatest(least(river_job.scheduled_at, '9999-12-31 00:00:00+00'), '0001-01-02 00:00:00+00');

-- name: job_get_by_id
-- Reads one job.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE id = @id::bigint;

-- name: job_get_by_id_many
-- Reads the jobs of @ids, a JSON array, in order of id.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text(@ids::text::jsonb)::bigint))
ORDER BY id;

-- name: job_cancel
-- Marks an unfinished job as cancelled by @attempted_at, RFC 3339 text, and finishes it unless it runs.
-- A finished job stays as it is.
UPDATE /* TEMPLATE: schema */river_job
SET finalized_at = CASE
        WHEN state IN ('available', 'pending', 'retryable', 'scheduled')
            THEN coalesce(@now::text::timestamptz, now())
        ELSE finalized_at
    END,
    metadata = CASE
        WHEN finalized_at IS NULL
            THEN metadata || jsonb_build_object('cancel_attempted_at', @attempted_at::text)
        ELSE metadata
    END,
    state = CASE
        WHEN state IN ('available', 'pending', 'retryable', 'scheduled') THEN 'cancelled'
        ELSE state
    END
WHERE id = @id::bigint
RETURNING /* INCLUDE: job_columns */;

-- name: job_retry
-- Makes a job available now, without a cancellation mark and with an attempt left. Gives no row for a job
-- that runs, that is due already, or that has no further attempt number. Whether it is due goes by the clock, not
-- by the start of the transaction: a job that another retry made due meanwhile stays as that one left it.
UPDATE /* TEMPLATE: schema */river_job
SET state = 'available',
    scheduled_at = coalesce(@now::text::timestamptz, now()),
    finalized_at = NULL,
    max_attempts = greatest(max_attempts, attempt + 1),
    metadata = metadata - 'cancel_attempted_at'
WHERE id = @id::bigint
  AND state <> 'running'
  AND NOT (state = 'available' AND scheduled_at <= coalesce(@now::text::timestamptz, clock_timestamp()))
  AND attempt < 32767
RETURNING /* INCLUDE: job_columns */;

-- name: job_retry_as_go
-- The same as Go does it: the cancellation mark stays.
UPDATE /* TEMPLATE: schema */river_job
SET state = 'available',
    scheduled_at = coalesce(@now::text::timestamptz, now()),
    finalized_at = NULL,
    max_attempts = greatest(max_attempts, attempt + 1)
WHERE id = @id::bigint
  AND state <> 'running'
  AND NOT (state = 'available' AND scheduled_at <= coalesce(@now::text::timestamptz, clock_timestamp()))
  AND attempt < 32767
RETURNING /* INCLUDE: job_columns */;

-- name: job_delete
-- Deletes a job that does not run.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id = @id::bigint
  AND state <> 'running'
RETURNING /* INCLUDE: job_columns */;
