-- name: notify_many
-- Writes @payloads, a JSON array of texts, into the outbox that listeners read. (@schema belongs to the
-- Postgres statement: topics carry no schema here.)
INSERT INTO /* TEMPLATE: schema */river_notification (created_at, payload, topic)
SELECT strftime('%Y-%m-%d %H:%M:%f', 'now'), value, @topic
FROM json_each(@payloads)
WHERE true
ORDER BY key;

-- name: notification_max_id
-- Where a listener that connects now starts to read.
SELECT coalesce(max(id), 0)
FROM /* TEMPLATE: schema */river_notification;

-- name: notification_get_after
-- The notifications after a listener's place, of all topics, in order.
SELECT id, topic, payload
FROM /* TEMPLATE: schema */river_notification
WHERE id > @id
ORDER BY id;
