-- name: job_metadata
-- Fragment, for YugabyteDB: the nonce that tells duplicates is no business of readers.
(river_job.metadata - 'river:unique_nonce')::text;

-- name: job_is_duplicate
-- Fragment, for YugabyteDB: the nonce of the row that is returned, which is another one than was sent when the
-- row is an older one.
river_job.metadata ->> 'river:unique_nonce';
