-- name: queue_columns
-- Fragment: the columns of a queue in the order of QueueRow's fields; the casts keep a caller's converters away.
    name,
    CAST(created_at AS text),
    river_json(metadata),
    CAST(paused_at AS text),
    CAST(updated_at AS text);

-- name: queue_create_or_set_updated_at
-- Makes a queue known, or says that it is still worked; its pause and metadata stay.
INSERT INTO /* TEMPLATE: schema */river_queue (name, created_at, metadata, updated_at)
VALUES (
    @name,
    coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    jsonb('{}'),
    coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
)
ON CONFLICT (name) DO UPDATE SET updated_at = excluded.updated_at
RETURNING /* INCLUDE: queue_columns */;

-- name: queue_get
-- Reads one queue.
SELECT /* INCLUDE: queue_columns */
FROM /* TEMPLATE: schema */river_queue
WHERE name = @name;

-- name: queue_list
-- Reads up to @limit queues by name.
SELECT /* INCLUDE: queue_columns */
FROM /* TEMPLATE: schema */river_queue
ORDER BY name
LIMIT @limit;

-- name: queue_list_timed
-- The same, each with the time of the database behind it.
SELECT queue.*, strftime('%Y-%m-%d %H:%M:%f', 'now')
FROM (/* INCLUDE: queue_list */) AS queue;

-- name: queue_pause
-- Pauses a queue, or all of them for the name `*`; one that is paused already stays as it is.
UPDATE /* TEMPLATE: schema */river_queue
SET paused_at = coalesce(paused_at, @now, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    updated_at = CASE
        WHEN paused_at IS NULL THEN coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
        ELSE updated_at
    END
WHERE name = @name OR @name = '*'
RETURNING /* INCLUDE: queue_columns */;

-- name: queue_resume
-- Resumes a queue, or all of them for the name `*`; one that is not paused stays as it is.
UPDATE /* TEMPLATE: schema */river_queue
SET paused_at = NULL,
    updated_at = CASE
        WHEN paused_at IS NULL THEN updated_at
        ELSE coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
    END
WHERE name = @name OR @name = '*'
RETURNING /* INCLUDE: queue_columns */;

-- name: queue_update
-- Replaces the metadata of a queue by @metadata where it is given; its time moves in any case.
UPDATE /* TEMPLATE: schema */river_queue
SET metadata = CASE WHEN @metadata IS NULL THEN metadata ELSE jsonb(@metadata) END,
    updated_at = coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
WHERE name = @name
RETURNING /* INCLUDE: queue_columns */;

-- name: queue_name_list
-- The names of queues in order: up to @limit behind @after that hold @match, in upper or lower case of English
-- letters, and are none of @exclude.
SELECT name
FROM /* TEMPLATE: schema */river_queue
WHERE name > @after
    AND instr(lower(name), lower(@match)) > 0
    AND name NOT IN (SELECT value FROM json_each(@exclude))
ORDER BY name
LIMIT @limit;
