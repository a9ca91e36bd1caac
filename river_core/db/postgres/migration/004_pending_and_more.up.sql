-- args keeps no default: an insert has to say what the job is called with.
UPDATE /* TEMPLATE: schema */river_job SET args = '{}' WHERE args IS NULL;
UPDATE /* TEMPLATE: schema */river_job SET metadata = '{}' WHERE metadata IS NULL;

ALTER TABLE /* TEMPLATE: schema */river_job
    ALTER COLUMN args SET NOT NULL,
    ALTER COLUMN metadata SET DEFAULT '{}',
    ALTER COLUMN metadata SET NOT NULL;

-- The value outlives a down migration, so a second way up finds it. It must be committed before
-- version 6 uses it.
ALTER TYPE /* TEMPLATE: schema */river_job_state ADD VALUE IF NOT EXISTS 'pending' AFTER 'discarded';

-- From here on a finalized state and finalized_at imply each other.
ALTER TABLE /* TEMPLATE: schema */river_job
    DROP CONSTRAINT finalized_or_finalized_at_null,
    ADD CONSTRAINT finalized_or_finalized_at_null CHECK (
        (finalized_at IS NULL AND state NOT IN ('cancelled', 'completed', 'discarded'))
        OR (finalized_at IS NOT NULL AND state IN ('cancelled', 'completed', 'discarded'))
    );

-- Clients notify by themselves now, and only as often as it helps.
DROP TRIGGER river_notify ON /* TEMPLATE: schema */river_job;
DROP FUNCTION /* TEMPLATE: schema */river_job_notify();

CREATE TABLE /* TEMPLATE: schema */river_queue (
    name text PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now(),
    metadata jsonb NOT NULL DEFAULT '{}',
    paused_at timestamptz,
    updated_at timestamptz NOT NULL
);

-- One leader for the schema: every row is called default.
ALTER TABLE /* TEMPLATE: schema */river_leader
    ALTER COLUMN name SET DEFAULT 'default',
    DROP CONSTRAINT name_length,
    ADD CONSTRAINT name_length CHECK (name = 'default');
