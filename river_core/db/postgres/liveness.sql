-- name: client_lock_hold
-- Shows that a client lives, until this session ends. The server is told to notice a silent network as
-- soon as the client does, so that the lock of a lost machine is freed. Returns the session's process id.
SELECT pg_backend_pid()
FROM (
    SELECT
        set_config('tcp_keepalives_idle', '5', false),
        set_config('tcp_keepalives_interval', '2', false),
        set_config('tcp_keepalives_count', '3', false),
        set_config('tcp_user_timeout', '10000', false),
        pg_advisory_lock_shared(@lock_class::int, (/* INCLUDE: client_lock_key */)::int)
    FROM (SELECT @client_id::text AS id) AS client
) AS held;

-- name: client_lock_session
-- The process id of the session behind this connection: the lock is there as long as that is the same.
SELECT pg_backend_pid();

-- name: client_lock_key
-- Fragment: 32 bits for `client.id` in this schema. 50,000 clients share one with a chance of a quarter,
-- and then only a dead one of the two is found late.
('x' || left(md5(coalesce(@schema::text, current_schema()) || ' ' || client.id), 8))::bit(32)

-- name: held_client_locks
-- Fragment: the keys that living clients hold in this database.
SELECT objid::bigint
FROM pg_locks
WHERE locktype = 'advisory'
  AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND classid = @lock_class::int::oid
  AND objsubid = 2

-- name: client_list_running
-- Every client of other name with @marker that has running rows: its id, whether its lock is held, and
-- the server's age in seconds.
SELECT
    client.id,
    (/* INCLUDE: client_lock_key */)::bigint IN (/* INCLUDE: held_client_locks */),
    extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8
FROM (
    SELECT DISTINCT attempted_by[array_upper(attempted_by, 1)] AS id
    FROM /* TEMPLATE: schema */river_job
    WHERE state = 'running'
) AS client
WHERE right(client.id, length(@marker::text)) = @marker::text
  AND client.id <> @client_id::text;

-- name: job_recover
-- Gives up to @limit running rows of the dead @clients (a JSON array) back, by id from behind @after,
-- unless their lock is held again. The first three crashes cost no time, later ones min(n^4, 300) s and half of that more or
-- less, so that jobs which went down with a poisonous neighbour do not meet it again; a
-- cancelled row ends, and so does one whose attempts, or @max_crashes, are used up.
WITH dead AS MATERIALIZED (
    SELECT client.id
    FROM jsonb_array_elements_text(@clients::text::jsonb) AS client (id)
    WHERE (/* INCLUDE: client_lock_key */)::bigint NOT IN (/* INCLUDE: held_client_locks */)
), stranded AS MATERIALIZED (
    SELECT
        id,
        attempted_by[array_upper(attempted_by, 1)] AS client_id,
        /* INCLUDE: rescue_number */ AS crash
    FROM /* TEMPLATE: schema */river_job
    WHERE state = 'running'
      AND attempted_by[array_upper(attempted_by, 1)] IN (SELECT id FROM dead)
      AND id > @after::bigint
    ORDER BY id
    LIMIT @limit::bigint
    FOR UPDATE SKIP LOCKED
), decided AS (
    SELECT
        stranded.id,
        client_id,
        crash,
        CASE
            WHEN jsonb_exists(metadata, 'cancel_attempted_at') THEN 'cancelled'
            WHEN attempt >= max_attempts OR crash >= @max_crashes::int THEN 'discarded'
            WHEN crash <= 3 THEN 'available'
            ELSE 'retryable'
        END AS verdict
    FROM stranded
    JOIN /* TEMPLATE: schema */river_job ON river_job.id = stranded.id
)
UPDATE /* TEMPLATE: schema */river_job
SET state = verdict::/* TEMPLATE: schema */river_job_state,
    finalized_at = CASE
        WHEN verdict IN ('cancelled', 'discarded') THEN coalesce(@now::text::timestamptz, now())
    END,
    scheduled_at = CASE
        WHEN verdict = 'retryable'
            THEN coalesce(@now::text::timestamptz, now()) + interval '1 second' * least(crash ^ 4, 300)::float8 * (0.5 + random())
        ELSE scheduled_at
    END,
    errors = array_append(
        /* INCLUDE: errors_before */,
        jsonb_build_object(
            'at', @at::text,
            'attempt', attempt,
            'error', 'Worker lost: client ' || decided.client_id || ' holds no lock any more',
            'trace', ''
        )
    ),
    metadata = /* INCLUDE: counted_rescue */
FROM decided
WHERE river_job.id = decided.id
RETURNING river_job.id, queue, state::text;

-- name: job_refresh_attempts
-- Moves attempted_at of this client's running rows @ids (a JSON array) that were claimed before @horizon,
-- so that no rescuer takes a living task for stuck. The attempt's true start is kept in metadata. A row that
-- a task holds in its own transaction is left for the next time, so that it keeps no other from being renewed.
UPDATE /* TEMPLATE: schema */river_job
SET attempted_at = coalesce(@now::text::timestamptz, now()),
    metadata = CASE
        WHEN metadata #>> '{python_attempted_at,attempt}' = attempt::text THEN metadata
        ELSE metadata || jsonb_build_object(
            'python_attempted_at',
            jsonb_build_object(
                'attempt', attempt,
                'at', to_char(attempted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
            )
        )
    END
WHERE id IN (
    SELECT id
    FROM /* TEMPLATE: schema */river_job
    WHERE id IN (SELECT value::bigint FROM jsonb_array_elements_text(@ids::text::jsonb))
      AND state = 'running'
      AND attempted_by[array_upper(attempted_by, 1)] = @client_id::text
      AND attempted_at < @horizon::text::timestamptz
    ORDER BY id
    FOR UPDATE SKIP LOCKED
)
RETURNING id;
