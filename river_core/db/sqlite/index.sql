-- name: index_get_existing
-- Which of @names, a JSON array, are indexes of the database. (@schema belongs to the Postgres statement.)
SELECT name
FROM /* TEMPLATE: schema */sqlite_master
WHERE type = 'index'
  AND @schema IS NULL
  AND name IN (SELECT value FROM json_each(@names));

-- name: index_get_artifacts
-- Nothing: a rebuild here is all or none, and leaves nothing behind of @name. (@schema belongs to the
-- Postgres statement.)
SELECT @name WHERE @schema IS NOT NULL AND @name IS NULL;

-- name: index_rebuild
-- Builds "the index", a name put in by the caller, anew; writers wait for it.
REINDEX /* TEMPLATE: schema */"the index";

-- name: index_drop
-- Drops "the index", a name put in by the caller.
DROP INDEX IF EXISTS /* TEMPLATE: schema */"the index";

-- name: index_cancel
-- Nothing: no statement of another session can be ended here (@statement).
SELECT 1 WHERE @statement IS NULL;
