-- name: migration_shape
-- Whether river_migration exists, and whether it has the column line (version 5 and later).
SELECT
    to_regclass('/* TEMPLATE: schema */river_migration') IS NOT NULL,
    EXISTS (
        SELECT 1 FROM pg_attribute
        WHERE attrelid = to_regclass('/* TEMPLATE: schema */river_migration')
            AND attname = 'line'
            AND NOT attisdropped
    )

-- name: migration_get_all_assuming_main
-- The versions recorded before lines existed.
SELECT version FROM /* TEMPLATE: schema */river_migration ORDER BY version

-- name: migration_get_by_line
-- The versions recorded for one line.
SELECT version FROM /* TEMPLATE: schema */river_migration WHERE line = @line ORDER BY version

-- name: migration_insert_assuming_main
-- Records a version while there are no lines yet.
INSERT INTO /* TEMPLATE: schema */river_migration (version) VALUES (@version)

-- name: migration_insert
-- Records a version of a line.
INSERT INTO /* TEMPLATE: schema */river_migration (line, version) VALUES (@line, @version)

-- name: migration_delete_assuming_main
-- Forgets a version once there are no lines any more.
DELETE FROM /* TEMPLATE: schema */river_migration WHERE version = @version

-- name: migration_delete
-- Forgets a version of a line.
DELETE FROM /* TEMPLATE: schema */river_migration WHERE line = @line AND version = @version

-- name: migration_lock
-- Waits for other migrators of the same schema; held until the end of the transaction, so that it also
-- works behind a pooler that hands out connections a transaction at a time.
SELECT pg_advisory_xact_lock(
    hashtextextended('river_migration ' || coalesce(nullif(@schema::text, ''), current_schema(), ''), 0)
)::text

-- name: migration_obstacles
-- Nothing stands in the way: no migration rebuilds river_job here.
SELECT NULL::text WHERE false
