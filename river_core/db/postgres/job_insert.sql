-- name: job_unique_target
-- Fragment: what an insert does when its unique key is taken. The change of nothing makes RETURNING give
-- the row that holds the key; the predicate repeats that of river_job_unique_idx.
ON CONFLICT (unique_key)
    WHERE unique_key IS NOT NULL
      AND unique_states IS NOT NULL
      AND /* TEMPLATE: schema */river_job_state_in_bitmask(unique_states, state)
    DO UPDATE SET kind = river_job.kind;

-- name: job_insert_values
-- Fragment: one new row.
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
    string_to_array(@tags::text, ','),
    @unique_key::bytea,
    @unique_states::integer::bit(8)
);

-- name: job_insert_notify
-- Fragment: notifies the workers of the queue when @notification, a payload, is given.
CASE
    WHEN @notification::text IS NOT NULL THEN
        pg_notify(coalesce(@schema::text, current_schema()) || '.river_insert', @notification::text)::text
END;

-- name: job_insert
-- Inserts one job and notifies. The column behind the job's own tells whether the row is an older one that
-- holds the unique key.
/* INCLUDE: job_insert_values */
/* INCLUDE: job_unique_target */
RETURNING /* INCLUDE: job_columns */,
    /* INCLUDE: job_is_duplicate */,
    /* INCLUDE: job_insert_notify */;

-- name: job_insert_plain
-- The same for a job without a unique key, which nothing can be in the way of. Gives what job_new_columns has.
/* INCLUDE: job_insert_values */
RETURNING /* INCLUDE: job_new_columns */,
    /* INCLUDE: job_insert_notify */;

-- name: job_new_columns
-- Fragment: the columns of a new row that its inserter does not know: jsonb spells JSON in its own way.
    river_job.id,
    /* INCLUDE: job_created_at */,
    /* INCLUDE: job_scheduled_at */,
    river_job.args::text,
    /* INCLUDE: job_metadata */;

-- name: job_insert_select
-- Fragment: new rows in the order of the values. Each parameter is one column of all rows, joined by @separator,
-- which none of the values holds: nothing needs to be escaped, and the server splits faster than it parses.
INSERT INTO /* TEMPLATE: schema */river_job (
    args, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key, unique_states
)
SELECT
    job.args::jsonb,
    coalesce(job.created_at::timestamptz, now()),
    job.kind,
    job.max_attempts::smallint,
    job.metadata::jsonb,
    job.priority::smallint,
    job.queue,
    coalesce(job.scheduled_at::timestamptz, now()),
    job.state::/* TEMPLATE: schema */river_job_state,
    string_to_array(coalesce(job.tags, ''), ','),
    decode(job.unique_key, 'hex'),
    job.unique_states::integer::bit(8)
FROM unnest(
    string_to_array(@args::text, @separator::text),
    string_to_array(@created_at::text, @separator::text, ''),
    string_to_array(@kind::text, @separator::text),
    string_to_array(@max_attempts::text, @separator::text),
    string_to_array(@metadata::text, @separator::text),
    string_to_array(@priority::text, @separator::text),
    string_to_array(@queue::text, @separator::text),
    string_to_array(@scheduled_at::text, @separator::text, ''),
    string_to_array(@state::text, @separator::text),
    string_to_array(@tags::text, @separator::text),
    string_to_array(@unique_key::text, @separator::text, ''),
    string_to_array(@unique_states::text, @separator::text, '')
) WITH ORDINALITY AS job (
    args, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key,
    unique_states, position
)
ORDER BY job.position;

-- name: job_insert_notify_many
-- Fragment: sends @notifications, payloads joined by @separator, once for all rows: a query that depends on no
-- row is run once.
(
    SELECT count(pg_notify(coalesce(@schema::text, current_schema()) || '.river_insert', payload))
    FROM unnest(string_to_array(@notifications::text, @separator::text)) AS payload
);

-- name: job_insert_many
-- Inserts many jobs and notifies. The column behind the job's own is as in job_insert.
/* INCLUDE: job_insert_select */
/* INCLUDE: job_unique_target */
RETURNING /* INCLUDE: job_columns */,
    /* INCLUDE: job_is_duplicate */,
    /* INCLUDE: job_insert_notify_many */;

-- name: job_insert_many_plain
-- The same without a look at unique keys: where one is taken nothing is inserted. Gives what job_new_columns has.
/* INCLUDE: job_insert_select */
RETURNING /* INCLUDE: job_new_columns */,
    /* INCLUDE: job_insert_notify_many */;

-- name: job_insert_alike_columns
-- Fragment: what is written of jobs that differ in their arguments alone.
INSERT INTO /* TEMPLATE: schema */river_job (
    args, kind, max_attempts, metadata, priority, queue, scheduled_at, state
);

-- name: job_alike_values
-- Fragment: what is the same for all of them.
    @kind::text,
    @max_attempts::integer,
    @metadata::text::jsonb,
    @priority::integer,
    @queue::text,
    coalesce(@scheduled_at::text::timestamptz, now()),
    @state::text::/* TEMPLATE: schema */river_job_state;

-- name: job_insert_alike
-- Inserts jobs that differ in their arguments alone, and gives their ids in order: what is the same for all is sent
-- once, and nothing but the id is read back. Otherwise as job_insert_many_plain.
/* INCLUDE: job_insert_alike_columns */
SELECT
    job.args::jsonb,
    /* INCLUDE: job_alike_values */
FROM unnest(string_to_array(@args::text, @separator::text)) WITH ORDINALITY AS job (args, position)
ORDER BY job.position
RETURNING river_job.id,
    /* INCLUDE: job_insert_notify_many */;

-- name: job_insert_alike_one
-- The same for one job.
/* INCLUDE: job_insert_alike_columns */ VALUES (
    @args::text::jsonb,
    /* INCLUDE: job_alike_values */
)
RETURNING river_job.id,
    /* INCLUDE: job_insert_notify */;

-- name: copy_jobs
-- Reads jobs at the time of the transaction (River: JobInsertFastManyCopyFrom).
COPY /* TEMPLATE: schema */river_job (
    args, kind, max_attempts, metadata, priority, queue, state, tags, unique_key, unique_states
)
FROM STDIN;

-- name: copy_jobs_scheduled
-- The same for jobs with a time of their own at the end of each line.
COPY /* TEMPLATE: schema */river_job (
    args, kind, max_attempts, metadata, priority, queue, state, tags, unique_key, unique_states, scheduled_at
)
FROM STDIN;

-- name: copy_jobs_created
-- The same for jobs with a time at which they were created.
COPY /* TEMPLATE: schema */river_job (
    args, kind, max_attempts, metadata, priority, queue, state, tags, unique_key, unique_states, created_at
)
FROM STDIN;

-- name: copy_jobs_timed
-- The same for jobs with both times, as the clock of a test gives them.
COPY /* TEMPLATE: schema */river_job (
    args, kind, max_attempts, metadata, priority, queue, state, tags, unique_key, unique_states, scheduled_at,
    created_at
)
FROM STDIN;
