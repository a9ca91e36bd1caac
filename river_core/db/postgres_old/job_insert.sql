-- name: job_metadata
-- Fragment: the metadata that readers see.
river_job.metadata::text;

-- name: job_is_duplicate
-- Fragment, for Postgres 18 and newer: there was a row before.
old.id IS NOT NULL;
