-- name: job_insert_notify
-- Fragment, for inserts whose commit does not wait for the disk. It follows columns that depend on the row.
CASE
    WHEN @notification::text IS NOT NULL THEN
        pg_notify(coalesce(@schema::text, current_schema()) || '.river_insert', @notification::text)::text
END,
(SELECT set_config('synchronous_commit', 'off', true));

-- name: job_insert_notify_many
-- Fragment: the same for many rows.
(
    SELECT count(pg_notify(coalesce(@schema::text, current_schema()) || '.river_insert', payload))
    FROM unnest(string_to_array(@notifications::text, @separator::text)) AS payload
),
(SELECT set_config('synchronous_commit', 'off', true));
