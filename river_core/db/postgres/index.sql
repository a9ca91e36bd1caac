-- name: index_get_existing
-- Which of @names, a JSON array, are indexes of River's schema.
SELECT class.relname::text
FROM pg_catalog.pg_class AS class
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
WHERE namespace.nspname = coalesce(@schema::text, current_schema())
  AND class.relkind = 'i'
  AND class.relname = ANY (ARRAY(SELECT jsonb_array_elements_text(@names::text::jsonb)));

-- name: index_get_artifacts
-- What a rebuild of the index @name that did not finish has left behind, by name.
SELECT class.relname::text
FROM pg_catalog.pg_class AS class
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
WHERE namespace.nspname = coalesce(@schema::text, current_schema())
  AND class.relkind = 'i'
  AND starts_with(class.relname::text, @name::text)
  AND substr(class.relname::text, length(@name::text) + 1) ~ '^_cc(new|old)[0-9]*$'
ORDER BY 1;

-- name: index_rebuild
-- Builds "the index", a name put in by the caller, anew beside the old one, without locking writers out. It
-- cannot run in a transaction.
REINDEX INDEX CONCURRENTLY /* TEMPLATE: schema */"the index";

-- name: index_drop
-- Drops "the index", a name put in by the caller, without locking writers out. It cannot run in a transaction.
DROP INDEX CONCURRENTLY IF EXISTS /* TEMPLATE: schema */"the index";

-- name: index_cancel
-- Ends the statement whose text is @statement, where it still runs in a session of this user.
SELECT pg_cancel_backend(pid)
FROM pg_catalog.pg_stat_activity
WHERE datname = current_database()
  AND usename = current_user
  AND pid <> pg_backend_pid()
  AND state = 'active'
  AND query = @statement::text;
