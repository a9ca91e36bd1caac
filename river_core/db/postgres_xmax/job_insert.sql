-- name: job_metadata
-- Fragment: the metadata that readers see.
river_job.metadata::text;

-- name: job_is_duplicate
-- Fragment, for Postgres before 18: a row that this statement changed instead of inserting it carries its mark.
river_job.xmax <> 0;
