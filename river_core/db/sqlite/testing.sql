-- name: job_get_by_kind_many
-- All jobs of @kinds, an array, in order of id.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE kind IN (SELECT value FROM json_each(@kinds))
ORDER BY id;

-- name: job_count_by_kind
-- How many jobs there are of each kind, the most frequent kinds first, @limit of them.
SELECT kind, count(*)
FROM /* TEMPLATE: schema */river_job
GROUP BY kind
ORDER BY count(*) DESC, kind
LIMIT @limit;

-- name: job_next_to_work
-- The id of the first due job that does not run, of @queue or of all, of @kinds, an array, or of all: due by @now, a test's own clock, or by the
-- later of @at, the client's clock, and the database's.
SELECT id
FROM /* TEMPLATE: schema */river_job
WHERE state IN ('available', 'retryable', 'scheduled')
  AND scheduled_at <= coalesce(@now, max(@at, strftime('%Y-%m-%d %H:%M:%f', 'now')))
  AND (@queue IS NULL OR queue = @queue)
  AND (@kinds IS NULL OR kind IN (SELECT value FROM json_each(@kinds)))
ORDER BY priority, scheduled_at, id
LIMIT 1;

-- name: job_start
-- Claims the job @id for a test whatever its time is; no row where it runs or is final.
UPDATE /* TEMPLATE: schema */river_job
SET /* INCLUDE: claim_due */
WHERE id = @id
  AND state IN ('available', 'pending', 'retryable', 'scheduled')
RETURNING /* INCLUDE: job_columns */;
