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

-- name: job_unique_target
-- Fragment: what an insert does when its unique key is taken. The change of nothing makes RETURNING give
-- the row that holds the key; the predicate repeats that of river_job_unique_idx.
ON CONFLICT (unique_key)
    WHERE unique_key IS NOT NULL
      AND unique_states IS NOT NULL
      AND CASE state
            WHEN 'available' THEN unique_states & (1 << 0)
            WHEN 'cancelled' THEN unique_states & (1 << 1)
            WHEN 'completed' THEN unique_states & (1 << 2)
            WHEN 'discarded' THEN unique_states & (1 << 3)
            WHEN 'pending' THEN unique_states & (1 << 4)
            WHEN 'retryable' THEN unique_states & (1 << 5)
            WHEN 'running' THEN unique_states & (1 << 6)
            WHEN 'scheduled' THEN unique_states & (1 << 7)
            ELSE 0
          END >= 1
    DO UPDATE SET kind = river_job.kind;

-- name: job_insert
-- Inserts one job; @nonce goes into its metadata. The last column is the nonce of the row that is returned,
-- which is another one when the row is an older one that holds the unique key. (@schema and @notification
-- belong to the Postgres statement; here an outbox row is written apart.)
INSERT INTO /* TEMPLATE: schema */river_job (
    args, attempt, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key,
    unique_states
) VALUES (
    jsonb(@args),
    0,
    coalesce(@created_at, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    @kind,
    @max_attempts,
    jsonb(json_set(@metadata, '$."river:unique_nonce"', @nonce)),
    @priority,
    @queue,
    coalesce(@scheduled_at, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    @state,
    jsonb(@tags),
    @unique_key,
    @unique_states
)
/* INCLUDE: job_unique_target */
RETURNING /* INCLUDE: job_columns */,
    json_extract(river_json(river_job.metadata), '$."river:unique_nonce"');

-- name: job_insert_many
-- Inserts the jobs of @jobs, a JSON array, in its order. Unique keys lie one after the other in @unique_keys;
-- a job names the place of its own. The last column is as in job_insert.
INSERT INTO /* TEMPLATE: schema */river_job (
    args, attempt, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key,
    unique_states
)
SELECT
    jsonb(json_extract(job.value, '$.args')),
    0,
    coalesce(json_extract(job.value, '$.created_at'), strftime('%Y-%m-%d %H:%M:%f', 'now')),
    json_extract(job.value, '$.kind'),
    json_extract(job.value, '$.max_attempts'),
    jsonb(
        json_set(
            json_extract(job.value, '$.metadata'), '$."river:unique_nonce"', json_extract(job.value, '$.nonce')
        )
    ),
    json_extract(job.value, '$.priority'),
    json_extract(job.value, '$.queue'),
    coalesce(json_extract(job.value, '$.scheduled_at'), strftime('%Y-%m-%d %H:%M:%f', 'now')),
    json_extract(job.value, '$.state'),
    jsonb(json_extract(job.value, '$.tags')),
    substr(@unique_keys, json_extract(job.value, '$.unique_key_start'), json_extract(job.value, '$.unique_key_size')),
    json_extract(job.value, '$.unique_states')
FROM json_each(@jobs) AS job
WHERE true
ORDER BY job.key
/* INCLUDE: job_unique_target */
RETURNING /* INCLUDE: job_columns */,
    json_extract(river_json(river_job.metadata), '$."river:unique_nonce"');

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

-- name: job_delete
-- Deletes a job that does not run.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id = @id
  AND state <> 'running'
RETURNING /* INCLUDE: job_columns */;
