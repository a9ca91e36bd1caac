-- The bare statements that the product is measured against: what a program would send that knew nothing of
-- hooks, uniqueness, notifications or retries, on River's whole table with all of its indexes. Parameters are
-- written @name; `benchmarks.row.bare` gives them as psycopg takes them. Nothing of the product runs these.

-- name: insert
-- One row, its times by the database's clock.
INSERT INTO river_job (
    args, kind, max_attempts, metadata, priority, queue, state, tags, unique_key, unique_states
) VALUES (
    @args::jsonb,
    @kind,
    @max_attempts::smallint,
    @metadata::jsonb,
    @priority::smallint,
    @queue,
    @state::river_job_state,
    @tags::varchar[],
    @unique_key,
    @unique_states::integer::bit(8)
)
RETURNING id;

-- name: copy
-- Many rows, the fastest way in; gives nothing back.
COPY river_job (args, kind, max_attempts, metadata, priority, queue, state, tags, unique_key, unique_states)
FROM STDIN;

-- name: insert_unnest
-- Many rows in one statement, of one array a column; tags are joined by commas.
INSERT INTO river_job (
    args, kind, max_attempts, metadata, priority, queue, state, tags, unique_key, unique_states
)
SELECT
    job.args::jsonb,
    job.kind,
    job.max_attempts,
    job.metadata::jsonb,
    job.priority,
    job.queue,
    job.state::river_job_state,
    string_to_array(job.tags, ',')::varchar[],
    job.unique_key,
    job.unique_states::bit(8)
FROM unnest(
    @args::text[],
    @kind::text[],
    @max_attempts::smallint[],
    @metadata::text[],
    @priority::smallint[],
    @queue::text[],
    @state::text[],
    @tags::text[],
    @unique_key::bytea[],
    @unique_states::integer[]
) AS job (args, kind, max_attempts, metadata, priority, queue, state, tags, unique_key, unique_states)
RETURNING id;

-- The next ones look each row up by its id: `= ANY (ARRAY[...])` and CASE leave the planner no other way. With a
-- plain `=` or `IN` it reads the whole table where statistics are older than the load, and would flatter us.

-- name: fetch
-- Claims @limit jobs of @queue for @client_id in order and gives what a worker needs of them.
WITH due AS MATERIALIZED (
    SELECT id
    FROM river_job
    WHERE state = 'available' AND queue = @queue AND scheduled_at <= now()
    ORDER BY priority, scheduled_at, id
    LIMIT @limit::bigint
    FOR UPDATE SKIP LOCKED
)
UPDATE river_job
SET state = 'running',
    attempt = attempt + 1,
    attempted_at = now(),
    attempted_by = array_append(attempted_by, @client_id::text)
FROM due
WHERE river_job.id = ANY (ARRAY[due.id])
RETURNING river_job.id, kind, args::text, metadata::text, attempt;

-- name: complete
-- Completes running jobs by id.
UPDATE river_job
SET state = 'completed', finalized_at = now()
FROM unnest(@ids::bigint[]) AS done (id)
WHERE river_job.id = ANY (ARRAY[done.id]) AND CASE WHEN state = 'running' THEN true ELSE false END;

-- name: complete_with_output
-- The same, and keeps one result in the metadata of each, as an adapter does that stores results.
UPDATE river_job
SET state = 'completed', finalized_at = now(), metadata = metadata || '{"output": null}'
FROM unnest(@ids::bigint[]) AS done (id)
WHERE river_job.id = ANY (ARRAY[done.id]) AND CASE WHEN state = 'running' THEN true ELSE false END;
