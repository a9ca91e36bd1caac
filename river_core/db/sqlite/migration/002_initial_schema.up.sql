-- River came to SQLite at version 6, which makes the real river_job. Until then a placeholder stands
-- for it, so that each version has the same tables in both databases.
CREATE TABLE /* TEMPLATE: schema */river_job (
    id INTEGER PRIMARY KEY
);

CREATE TABLE /* TEMPLATE: schema */river_leader (
    elected_at timestamp NOT NULL,
    expires_at timestamp NOT NULL,
    leader_id TEXT NOT NULL,
    name TEXT PRIMARY KEY NOT NULL,
    CONSTRAINT name_length CHECK (length(name) > 0 AND length(name) < 128),
    CONSTRAINT leader_id_length CHECK (length(leader_id) > 0 AND length(leader_id) < 128)
);
