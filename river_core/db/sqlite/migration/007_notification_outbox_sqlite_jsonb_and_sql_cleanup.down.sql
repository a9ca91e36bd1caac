-- JSON turns back from SQLite's binary form into text.
CREATE TEMP TABLE river_job_rows AS SELECT * FROM /* TEMPLATE: schema */river_job;
DROP TABLE /* TEMPLATE: schema */river_job;

CREATE TABLE /* TEMPLATE: schema */river_job (
    id INTEGER PRIMARY KEY,
    args BLOB NOT NULL DEFAULT '{}',
    attempt INTEGER NOT NULL DEFAULT 0,
    attempted_at timestamp,
    attempted_by BLOB,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    errors BLOB,
    finalized_at timestamp,
    kind TEXT NOT NULL,
    max_attempts INTEGER NOT NULL,
    metadata BLOB NOT NULL DEFAULT (json('{}')),
    priority INTEGER NOT NULL DEFAULT 1,
    queue TEXT NOT NULL DEFAULT 'default',
    state TEXT NOT NULL DEFAULT 'available',
    scheduled_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    tags BLOB NOT NULL DEFAULT (json('[]')),
    unique_key BLOB,
    unique_states INTEGER,
    CONSTRAINT finalized_or_finalized_at_null CHECK (
        (finalized_at IS NULL AND state NOT IN ('cancelled', 'completed', 'discarded')) OR
        (finalized_at IS NOT NULL AND state IN ('cancelled', 'completed', 'discarded'))
    ),
    CONSTRAINT priority_in_range CHECK (priority >= 1 AND priority <= 4),
    CONSTRAINT queue_length CHECK (length(queue) > 0 AND length(queue) < 128),
    CONSTRAINT kind_length CHECK (length(kind) > 0 AND length(kind) < 128),
    CONSTRAINT state_valid CHECK (
        state IN ('available', 'cancelled', 'completed', 'discarded',
            'pending', 'retryable', 'running', 'scheduled')
    )
);

INSERT INTO /* TEMPLATE: schema */river_job (
    id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts,
    metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
)
SELECT
    id, json(args), attempt, attempted_at, json(attempted_by), created_at, json(errors), finalized_at, kind,
    max_attempts, json(metadata), priority, queue, state, scheduled_at, json(tags), unique_key, unique_states
FROM temp.river_job_rows
ORDER BY id;

DROP TABLE temp.river_job_rows;

CREATE INDEX /* TEMPLATE: schema */river_job_kind ON river_job (kind);
CREATE INDEX /* TEMPLATE: schema */river_job_state_and_finalized_at_index ON river_job (state, finalized_at)
    WHERE finalized_at IS NOT NULL;
CREATE INDEX /* TEMPLATE: schema */river_job_prioritized_fetching_index
    ON river_job (state, queue, priority, scheduled_at, id);
CREATE UNIQUE INDEX /* TEMPLATE: schema */river_job_unique_idx ON river_job (unique_key)
    WHERE unique_key IS NOT NULL
        AND unique_states IS NOT NULL
        AND CASE state
            WHEN 'available' THEN unique_states & (1 << 0)
            WHEN 'cancelled' THEN unique_states & (1 << 1)
            WHEN 'completed' THEN unique_states & (1 << 2)
            WHEN 'discarded' THEN unique_states & (1 << 3)
            WHEN 'pending' THEN unique_states & (1 << 4)
            WHEN 'retryable' THEN unique_states & (1 << 5)
            WHEN 'running' THEN unique_states & (1 << 6)
            WHEN 'scheduled' THEN unique_states & (1 << 7)
            ELSE 0
        END >= 1;

CREATE TEMP TABLE river_queue_rows AS SELECT * FROM /* TEMPLATE: schema */river_queue;
DROP TABLE /* TEMPLATE: schema */river_queue;

CREATE TABLE /* TEMPLATE: schema */river_queue (
    name TEXT PRIMARY KEY NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    metadata BLOB NOT NULL DEFAULT (json('{}')),
    paused_at timestamp,
    updated_at timestamp NOT NULL
);

INSERT INTO /* TEMPLATE: schema */river_queue (name, created_at, metadata, paused_at, updated_at)
SELECT name, created_at, json(metadata), paused_at, updated_at FROM temp.river_queue_rows;

DROP TABLE temp.river_queue_rows;

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

DROP TABLE /* TEMPLATE: schema */river_notification;
