-- name: job_filters
-- Fragment: which jobs are meant. A filter of NULL lets every job pass; lists are Postgres arrays as text, so
-- that the planner sees what is in them. A job passes @metadata when the value of each of its keys is equal;
-- containment follows from that, and has an index; it is all that @metadata_contained asks for.
    (@ids::text IS NULL OR river_job.id = ANY (@ids::text::bigint[]))
    AND (@kinds::text IS NULL OR river_job.kind = ANY (@kinds::text::text[]))
    AND (@priorities::text IS NULL OR river_job.priority = ANY (@priorities::text::smallint[]))
    AND (@queues::text IS NULL OR river_job.queue = ANY (@queues::text::text[]))
    AND (@states::text IS NULL OR river_job.state = ANY (@states::text::/* TEMPLATE: schema */river_job_state[]))
    AND (@tags_any::text IS NULL OR river_job.tags && @tags_any::text::varchar[])
    AND (@tags_all::text IS NULL OR river_job.tags @> @tags_all::text::varchar[])
    AND (@metadata_contained::text IS NULL OR river_job.metadata @> @metadata_contained::text::jsonb)
    AND (
        @metadata::text IS NULL
        OR (
            river_job.metadata @> @metadata::text::jsonb
            AND NOT EXISTS (
                SELECT
                FROM jsonb_each(@metadata::text::jsonb) AS wanted
                WHERE river_job.metadata -> wanted.key IS DISTINCT FROM wanted.value
            )
        )
    );

-- name: job_sort_time
-- Fragment: the time to sort by; none when the order is that of the ids.
    CASE @sort_column::text
        WHEN 'attempted_at' THEN river_job.attempted_at
        WHEN 'finalized_at' THEN river_job.finalized_at
        WHEN 'scheduled_at' THEN river_job.scheduled_at
    END;

-- name: job_list_by_id_asc
-- Lists jobs of ascending id, behind @after_id where it is given.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE /* INCLUDE: job_filters */
    AND (@after_id::bigint IS NULL OR river_job.id > @after_id::bigint)
ORDER BY river_job.id
LIMIT @limit::bigint;

-- name: job_list_by_id_desc
-- Lists jobs of descending id, behind @after_id where it is given.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE /* INCLUDE: job_filters */
    AND (@after_id::bigint IS NULL OR river_job.id < @after_id::bigint)
ORDER BY river_job.id DESC
LIMIT @limit::bigint;

-- name: job_list_asc
-- Lists jobs by an ascending time, then id, those without a time last; behind @after_time and @after_id where
-- the latter is given.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE /* INCLUDE: job_filters */
    AND (
        @after_id::bigint IS NULL
        OR CASE
            WHEN @after_time::text IS NULL
                THEN /* INCLUDE: job_sort_time */ IS NULL AND river_job.id > @after_id::bigint
            ELSE /* INCLUDE: job_sort_time */ IS NULL
                OR /* INCLUDE: job_sort_time */ > @after_time::text::timestamptz
                OR (/* INCLUDE: job_sort_time */ = @after_time::text::timestamptz AND river_job.id > @after_id::bigint)
        END
    )
ORDER BY /* INCLUDE: job_sort_time */ ASC NULLS LAST, river_job.id ASC
LIMIT @limit::bigint;

-- name: job_list_desc
-- Lists jobs by a descending time, then id, those without a time first; behind @after_time and @after_id where
-- the latter is given.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE /* INCLUDE: job_filters */
    AND (
        @after_id::bigint IS NULL
        OR CASE
            WHEN @after_time::text IS NULL
                THEN /* INCLUDE: job_sort_time */ IS NOT NULL OR river_job.id < @after_id::bigint
            ELSE /* INCLUDE: job_sort_time */ < @after_time::text::timestamptz
                OR (/* INCLUDE: job_sort_time */ = @after_time::text::timestamptz AND river_job.id < @after_id::bigint)
        END
    )
ORDER BY /* INCLUDE: job_sort_time */ DESC NULLS FIRST, river_job.id DESC
LIMIT @limit::bigint;

-- name: job_delete_many
-- Deletes up to @limit jobs of ascending id that do not run, passing over those that somebody else works on.
WITH doomed AS (
    SELECT river_job.id
    FROM /* TEMPLATE: schema */river_job
    WHERE /* INCLUDE: job_filters */
        AND river_job.state <> 'running'
    ORDER BY river_job.id
    LIMIT @limit::bigint
    FOR UPDATE SKIP LOCKED
), deleted AS (
    DELETE FROM /* TEMPLATE: schema */river_job
    USING doomed
    WHERE river_job.id = doomed.id
    RETURNING river_job.*
)
SELECT /* INCLUDE: job_columns */
FROM deleted AS river_job
ORDER BY river_job.id;
