-- name: job_filters
-- Fragment: which jobs are meant, apart from their states. A filter of NULL lets every job pass; lists are JSON
-- arrays. A job passes @metadata when no key of it is missing or has another value.
    (@ids IS NULL OR river_job.id IN (SELECT value FROM json_each(@ids)))
    AND (@kinds IS NULL OR river_job.kind IN (SELECT value FROM json_each(@kinds)))
    AND (@priorities IS NULL OR river_job.priority IN (SELECT value FROM json_each(@priorities)))
    AND (@queues IS NULL OR river_job.queue IN (SELECT value FROM json_each(@queues)))
    AND (
        @tags_any IS NULL
        OR EXISTS (
            SELECT 1
            FROM json_each(river_json(river_job.tags)) AS tag
            WHERE tag.value IN (SELECT value FROM json_each(@tags_any))
        )
    )
    AND (
        @tags_all IS NULL
        OR NOT EXISTS (
            SELECT 1
            FROM json_each(@tags_all) AS wanted
            WHERE wanted.value NOT IN (SELECT value FROM json_each(river_json(river_job.tags)))
        )
    )
    AND (
        @metadata IS NULL
        OR NOT EXISTS (
            SELECT 1
            FROM json_each(@metadata) AS wanted
            WHERE NOT EXISTS (
                SELECT 1
                FROM json_each(river_json(river_job.metadata)) AS held
                WHERE held.key = wanted.key
                    AND NOT EXISTS (/* INCLUDE: json_difference */)
            )
        )
    );

-- name: json_difference
-- Fragment: where the JSON values `held` and `wanted` differ. Both are taken apart into branches and leaves; each
-- must be there twice. Neither the order of keys nor the spelling of keys, texts and numbers counts; numbers beyond
-- 64 bits compare as floats.
    WITH RECURSIVE part (path, type, value) AS (
        SELECT '', held.type, held.value
        UNION ALL
        SELECT '', wanted.type, wanted.value
        UNION ALL
        SELECT part.path || '/' || json_quote(child.key), child.type, child.value
        FROM part, json_each(CASE WHEN part.type IN ('array', 'object') THEN part.value END) AS child
    )
    SELECT 1
    FROM part
    GROUP BY path, replace(type, 'integer', 'real'), CASE WHEN type NOT IN ('array', 'object') THEN value END
    HAVING count(*) <> 2;

-- name: job_id_range
-- Fragment: the ids from the first to the last of @ids, or all. It says nothing that @ids does not, but leads
-- SQLite to the rows by their id.
    river_job.id >= coalesce((SELECT min(value) FROM json_each(@ids)), -9223372036854775808)
    AND river_job.id <= coalesce((SELECT max(value) FROM json_each(@ids)), 9223372036854775807);

-- name: job_sort_time
-- Fragment: the time to sort by; none when the order is that of the ids.
    CASE @sort_column
        WHEN 'attempted_at' THEN river_job.attempted_at
        WHEN 'finalized_at' THEN river_job.finalized_at
        WHEN 'scheduled_at' THEN river_job.scheduled_at
    END;

-- name: job_list_by_id_asc
-- Lists jobs of ascending id, behind @after_id where it is given, without a sort.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE /* INCLUDE: job_filters */
    AND (@states IS NULL OR river_job.state IN (SELECT value FROM json_each(@states)))
    AND /* INCLUDE: job_id_range */
    AND river_job.id >= coalesce(@after_id + 1, -9223372036854775808)
ORDER BY river_job.id
LIMIT @limit;

-- name: job_list_by_id_desc
-- Lists jobs of descending id, behind @after_id where it is given, without a sort.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE /* INCLUDE: job_filters */
    AND (@states IS NULL OR river_job.state IN (SELECT value FROM json_each(@states)))
    AND /* INCLUDE: job_id_range */
    AND river_job.id <= coalesce(@after_id - 1, 9223372036854775807)
ORDER BY river_job.id DESC
LIMIT @limit;

-- name: job_list_asc
-- Lists jobs of @states, which an index finds, by an ascending time, then id, those without a time last; behind
-- @after_time and @after_id where the latter is given.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE river_job.state IN (SELECT value FROM json_each(@states))
    AND /* INCLUDE: job_filters */
    AND (
        @after_id IS NULL
        OR CASE
            WHEN @after_time IS NULL THEN /* INCLUDE: job_sort_time */ IS NULL AND river_job.id > @after_id
            ELSE /* INCLUDE: job_sort_time */ IS NULL
                OR /* INCLUDE: job_sort_time */ > @after_time
                OR (/* INCLUDE: job_sort_time */ = @after_time AND river_job.id > @after_id)
        END
    )
ORDER BY /* INCLUDE: job_sort_time */ ASC NULLS LAST, river_job.id ASC
LIMIT @limit;

-- name: job_list_desc
-- Lists jobs of @states, which an index finds, by a descending time, then id, those without a time first; behind
-- @after_time and @after_id where the latter is given.
SELECT /* INCLUDE: job_columns */
FROM /* TEMPLATE: schema */river_job
WHERE river_job.state IN (SELECT value FROM json_each(@states))
    AND /* INCLUDE: job_filters */
    AND (
        @after_id IS NULL
        OR CASE
            WHEN @after_time IS NULL THEN /* INCLUDE: job_sort_time */ IS NOT NULL OR river_job.id < @after_id
            ELSE /* INCLUDE: job_sort_time */ < @after_time
                OR (/* INCLUDE: job_sort_time */ = @after_time AND river_job.id < @after_id)
        END
    )
ORDER BY /* INCLUDE: job_sort_time */ DESC NULLS FIRST, river_job.id DESC
LIMIT @limit;

-- name: job_delete_many
-- Deletes up to @limit jobs of ascending id that do not run. SQLite promises no order for what it returns.
DELETE FROM /* TEMPLATE: schema */river_job
WHERE id IN (
    SELECT river_job.id
    FROM /* TEMPLATE: schema */river_job
    WHERE /* INCLUDE: job_filters */
        AND (@states IS NULL OR river_job.state IN (SELECT value FROM json_each(@states)))
        AND /* INCLUDE: job_id_range */
        AND river_job.state <> 'running'
    ORDER BY river_job.id
    LIMIT @limit
)
RETURNING /* INCLUDE: job_columns */;
