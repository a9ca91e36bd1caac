-- name: migration_shape
-- Whether river_migration exists, and whether it has the column line (version 5 and later).
SELECT
    count(*) > 0,
    coalesce(max(name = 'line'), 0)
FROM pragma_table_info('river_migration')

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
-- Nothing to take: the immediate transaction around each migration already excludes every other writer.
SELECT @schema

-- name: migration_obstacles
-- What would be lost or broken when river_job is rebuilt: tables that refer to it (those of River Pro by
-- name, since not all declare it) and triggers on it.
SELECT entry.type || ' ' || entry.name
FROM /* TEMPLATE: schema */sqlite_master AS entry
WHERE entry.type = 'table' AND (
        entry.name IN ('river_job_sequence', 'river_job_workflow_scheduling', 'river_workflow')
        OR EXISTS (
            SELECT 1 FROM pragma_foreign_key_list(entry.name) AS reference
            WHERE lower(reference."table") = 'river_job'
        )
    )
    OR entry.type = 'trigger' AND lower(entry.tbl_name) = 'river_job'
ORDER BY entry.name
