-- The record of which versions this database has; one number a row until version 5.
CREATE TABLE /* TEMPLATE: schema */river_migration (
    id INTEGER PRIMARY KEY,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    version INTEGER NOT NULL,
    CONSTRAINT version CHECK (version >= 1)
);

CREATE UNIQUE INDEX /* TEMPLATE: schema */river_migration_version_idx ON river_migration (version);
