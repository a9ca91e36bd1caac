-- name: session_timezone_utc
-- Makes the session give times in UTC; run once on a new connection whose server says otherwise.
SELECT set_config('TimeZone', 'UTC', false);

-- name: session_current_schema
-- The schema that unqualified names resolve to; notification channels start with it.
SELECT current_schema();

-- name: session_database_identity
-- What tells one database from every other one, by whatever address it was reached.
SELECT (SELECT system_identifier FROM pg_control_system()), oid::bigint
FROM pg_database
WHERE datname = current_database();

-- name: session_facts
-- Which process answers, another one than greeted us where a pooler stands between, and whether
-- statements are READ COMMITTED when nothing is said.
SELECT pg_backend_pid(), current_setting('default_transaction_isolation') = 'read committed';

-- name: session_stays_idle
-- Lets a listening session be idle for as long as it likes, whatever is set for its role.
SELECT set_config(name, '0', false)
FROM pg_settings
WHERE name = 'idle_session_timeout'
  AND setting <> '0';

-- name: session_commit_relaxed
-- Lets the commit of the open transaction not wait for the disk.
SELECT set_config('synchronous_commit', 'off', true);

-- name: session_server
-- What server this is. The names are unqualified so that a test may put functions of its own before them.
SELECT
    version()::text,
    current_setting('server_version_num')::integer,
    coalesce(current_setting('yb_enable_listen_notify', true), 'off')::boolean;
