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
