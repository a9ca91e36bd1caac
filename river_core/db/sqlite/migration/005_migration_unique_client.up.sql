-- Migrations get lines, so that more than one set of them can be recorded.
ALTER TABLE /* TEMPLATE: schema */river_migration RENAME TO river_migration_old;

CREATE TABLE /* TEMPLATE: schema */river_migration (
    line TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (line, version),
    CONSTRAINT line_length CHECK (length(line) > 0 AND length(line) < 128),
    CONSTRAINT version_gte_1 CHECK (version >= 1)
);

INSERT INTO /* TEMPLATE: schema */river_migration (line, version, created_at)
SELECT 'main', version, created_at FROM /* TEMPLATE: schema */river_migration_old;

DROP TABLE /* TEMPLATE: schema */river_migration_old;

-- No client ever used these two; version 7 drops them.
CREATE TABLE /* TEMPLATE: schema */river_client (
    id TEXT PRIMARY KEY NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    metadata BLOB NOT NULL DEFAULT (json('{}')),
    paused_at timestamp,
    updated_at timestamp NOT NULL,
    CONSTRAINT name_length CHECK (length(id) > 0 AND length(id) < 128)
);

CREATE TABLE /* TEMPLATE: schema */river_client_queue (
    river_client_id TEXT NOT NULL REFERENCES river_client (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    max_workers INTEGER NOT NULL DEFAULT 0,
    metadata BLOB NOT NULL DEFAULT (json('{}')),
    num_jobs_completed INTEGER NOT NULL DEFAULT 0,
    num_jobs_running INTEGER NOT NULL DEFAULT 0,
    updated_at timestamp NOT NULL,
    PRIMARY KEY (river_client_id, name),
    CONSTRAINT name_length CHECK (length(name) > 0 AND length(name) < 128),
    CONSTRAINT num_jobs_completed_zero_or_positive CHECK (num_jobs_completed >= 0),
    CONSTRAINT num_jobs_running_zero_or_positive CHECK (num_jobs_running >= 0)
);
