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

-- name: job_insert_values
-- Fragment: one new row; @nonce goes into its metadata.
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
);

-- name: job_nonce
-- Fragment: the nonce of the row that is returned, which is another one than was sent when the row is an older
-- one that holds the unique key.
json_extract(river_json(river_job.metadata), '$."river:unique_nonce"');

-- name: job_insert
-- Inserts one job. (@schema and @notification belong to the Postgres statement; here an outbox row is written
-- apart.)
/* INCLUDE: job_insert_values */
/* INCLUDE: job_unique_target */
RETURNING /* INCLUDE: job_columns */,
    /* INCLUDE: job_nonce */;

-- name: job_insert_select
-- Fragment: the jobs of @jobs, a JSON array, in its order. Unique keys lie one after the other in @unique_keys;
-- a job names the place of its own.
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
ORDER BY job.key;

-- name: job_insert_many
-- Inserts many jobs.
/* INCLUDE: job_insert_select */
/* INCLUDE: job_unique_target */
RETURNING /* INCLUDE: job_columns */,
    /* INCLUDE: job_nonce */;

-- name: job_insert_many_plain
-- The same without a look at unique keys: where one is taken nothing is inserted.
/* INCLUDE: job_insert_select */
RETURNING /* INCLUDE: job_columns */,
    /* INCLUDE: job_nonce */;

