-- name: queue_columns
-- Fragment: the columns of a queue in the order of QueueRow's fields.
    name,
    greatest(least(created_at, '9999-12-31 00:00:00+00'), '0001-01-02 00:00:00+00'),
    metadata::text,
    CASE
        WHEN paused_at IS NOT NULL
            THEN greatest(least(paused_at, '9999-12-31 00:00:00+00'), '0001-01-02 00:00:00+00')
    END,
    greatest(least(updated_at, '9999-12-31 00:00:00+00'), '0001-01-02 00:00:00+00');

-- name: queue_create_or_set_updated_at
-- Makes a queue known, or says that it is still worked; its pause and metadata stay.
INSERT INTO /* TEMPLATE: schema */river_queue (name, created_at, metadata, updated_at)
VALUES (@name::text, coalesce(@now::text::timestamptz, now()), '{}', coalesce(@now::text::timestamptz, now()))
ON CONFLICT (name) DO UPDATE SET updated_at = EXCLUDED.updated_at
RETURNING /* INCLUDE: queue_columns */;

-- name: queue_get
-- Reads one queue.
SELECT /* INCLUDE: queue_columns */
FROM /* TEMPLATE: schema */river_queue
WHERE name = @name::text;

-- name: queue_list
-- Reads up to @limit queues by name.
SELECT /* INCLUDE: queue_columns */
FROM /* TEMPLATE: schema */river_queue
ORDER BY name COLLATE "C"
LIMIT @limit::bigint;

-- name: queue_list_timed
-- The same, each with the time of the database behind it.
SELECT queue.*, now()
FROM (/* INCLUDE: queue_list */) AS queue;

-- name: queue_pause
-- Pauses a queue, or all of them for the name `*`; one that is paused already stays as it is.
UPDATE /* TEMPLATE: schema */river_queue
SET paused_at = coalesce(paused_at, @now::text::timestamptz, now()),
    updated_at = CASE WHEN paused_at IS NULL THEN coalesce(@now::text::timestamptz, now()) ELSE updated_at END
WHERE name = @name::text OR @name::text = '*'
RETURNING /* INCLUDE: queue_columns */;

-- name: queue_resume
-- Resumes a queue, or all of them for the name `*`; one that is not paused stays as it is.
UPDATE /* TEMPLATE: schema */river_queue
SET paused_at = NULL,
    updated_at = CASE WHEN paused_at IS NULL THEN updated_at ELSE coalesce(@now::text::timestamptz, now()) END
WHERE name = @name::text OR @name::text = '*'
RETURNING /* INCLUDE: queue_columns */;

-- name: queue_update
-- Replaces the metadata of a queue by @metadata where it is given; its time moves in any case.
UPDATE /* TEMPLATE: schema */river_queue
SET metadata = coalesce(@metadata::text::jsonb, metadata),
    updated_at = coalesce(@now::text::timestamptz, now())
WHERE name = @name::text
RETURNING /* INCLUDE: queue_columns */;

-- name: queue_name_list
-- The names of queues in order: up to @limit behind @after that hold @match, in upper or lower case, and are
-- none of @exclude.
SELECT name
FROM /* TEMPLATE: schema */river_queue
WHERE name COLLATE "C" > @after::text
    AND strpos(lower(name), lower(@match::text)) > 0
    AND name <> ALL (@exclude::text::text[])
ORDER BY name COLLATE "C"
LIMIT @limit::bigint;
