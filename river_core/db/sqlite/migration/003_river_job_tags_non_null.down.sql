-- The placeholder river_job has no tags yet.
SELECT 1;
