-- name: notify_many
-- Sends @payloads, a JSON array of texts, on a topic's channel, which starts with the schema; delivered at commit.
SELECT pg_notify(coalesce(@schema::text, current_schema()) || '.' || @topic::text, payload)
FROM jsonb_array_elements_text(@payloads::text::jsonb) AS payload;
