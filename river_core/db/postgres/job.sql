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
    greatest(least(river_job.created_at, '9999-12-31 00:00:00+00'), '0001-01-02 00:00:00+00'),
    CASE
        WHEN river_job.finalized_at IS NOT NULL
            THEN greatest(least(river_job.finalized_at, '9999-12-31 00:00:00+00'), '0001-01-02 00:00:00+00')
    END,
    greatest(least(river_job.scheduled_at, '9999-12-31 00:00:00+00'), '0001-01-02 00:00:00+00'),
    river_job.priority,
    river_job.queue,
    river_job.kind,
    river_job.args::text,
    river_job.metadata::text,
    to_jsonb(river_job.tags)::text,
    to_jsonb(river_job.errors)::text,
    to_jsonb(river_job.attempted_by)::text,
    river_job.unique_key,
    river_job.unique_states::integer;

-- name: job_unique_target
-- Fragment: what an insert does when its unique key is taken. The change of nothing makes RETURNING give
-- the row that holds the key; the predicate repeats that of river_job_unique_idx.
ON CONFLICT (unique_key)
    WHERE unique_key IS NOT NULL
      AND unique_states IS NOT NULL
      AND /* TEMPLATE: schema */river_job_state_in_bitmask(unique_states, state)
    DO UPDATE SET kind = river_job.kind;

-- name: job_insert
-- Inserts one job and notifies the workers of its queue when @notification, a payload, is given. The last
-- column tells whether the row is an older one that holds the unique key.
INSERT INTO /* TEMPLATE: schema */river_job (
    args, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key, unique_states
) VALUES (
    @args::text::jsonb,
    coalesce(@created_at::text::timestamptz, now()),
    @kind::text,
    @max_attempts::integer,
    @metadata::text::jsonb,
    @priority::integer,
    @queue::text,
    coalesce(@scheduled_at::text::timestamptz, now()),
    @state::text::/* TEMPLATE: schema */river_job_state,
    ARRAY(SELECT jsonb_array_elements_text(@tags::text::jsonb)),
    @unique_key::bytea,
    @unique_states::integer::bit(8)
)
/* INCLUDE: job_unique_target */
RETURNING /* INCLUDE: job_columns */,
    xmax <> 0,
    CASE
        WHEN @notification::text IS NOT NULL THEN
            pg_notify(coalesce(@schema::text, current_schema()) || '.river_insert', @notification::text)::text
    END;

-- name: job_insert_many
-- Inserts the jobs of @jobs, a JSON array, in its order, and sends @notifications, a JSON array of payloads.
-- The last column tells whether a row is an older one that holds the unique key.
WITH sent AS (
    SELECT count(pg_notify(coalesce(@schema::text, current_schema()) || '.river_insert', payload)) AS count
    FROM jsonb_array_elements_text(@notifications::text::jsonb) AS payload
), inserted AS (
    INSERT INTO /* TEMPLATE: schema */river_job (
        args, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key, unique_states
    )
    SELECT
        job.args::jsonb,
        coalesce(job.created_at, now()),
        job.kind,
        job.max_attempts,
        job.metadata::jsonb,
        job.priority,
        job.queue,
        coalesce(job.scheduled_at, now()),
        job.state::/* TEMPLATE: schema */river_job_state,
        ARRAY(SELECT json_array_elements_text(job.tags)),
        decode(job.unique_key, 'hex'),
        job.unique_states::bit(8)
    FROM ROWS FROM (
        json_to_recordset(@jobs::text::json) AS (
            args text,
            created_at timestamptz,
            kind text,
            max_attempts integer,
            metadata text,
            priority integer,
            queue text,
            scheduled_at timestamptz,
            state text,
            tags json,
            unique_key text,
            unique_states integer
        )
    ) WITH ORDINALITY AS job (
        args, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key,
        unique_states, position
    )
    ORDER BY job.position
    /* INCLUDE: job_unique_target */
    RETURNING *, xmax <> 0 AS is_duplicate
)
SELECT /* INCLUDE: job_columns */, river_job.is_duplicate
FROM inserted AS river_job, sent;

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

-- name: job_delete
-- Deletes a job that does not run.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id = @id::bigint
  AND state <> 'running'
RETURNING /* INCLUDE: job_columns */;
