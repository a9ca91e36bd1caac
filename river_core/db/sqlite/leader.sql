-- name: leader_delete_expired
-- Removes a term that has run out, so that the next bid can win.
DELETE FROM /* TEMPLATE: schema */river_leader
WHERE expires_at < coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'));

-- name: leader_attempt_elect
-- Begins a term of @ttl seconds unless somebody leads; a returned row means that the bid won.
INSERT INTO /* TEMPLATE: schema */river_leader (leader_id, elected_at, expires_at, name)
VALUES (
    @leader_id,
    coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now')),
    strftime('%Y-%m-%d %H:%M:%f', coalesce(@now, 'now'), @ttl || ' seconds'),
    'default'
)
ON CONFLICT (name) DO NOTHING
RETURNING elected_at;

-- name: leader_attempt_reelect
-- Prolongs exactly this term; no row means that it ran out or that somebody else leads. The term's (@milliseconds
-- belongs to the Postgres statement.)
-- time is the text that the bid returned, so texts are compared.
UPDATE /* TEMPLATE: schema */river_leader
SET expires_at = strftime('%Y-%m-%d %H:%M:%f', coalesce(@now, 'now'), @ttl || ' seconds')
WHERE leader_id = @leader_id
  AND elected_at = @elected_at
  AND expires_at >= coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'))
RETURNING elected_at;

-- name: leader_resign
-- Ends exactly this term, never a newer one of the same client.
DELETE FROM /* TEMPLATE: schema */river_leader
WHERE leader_id = @leader_id
  AND elected_at = @elected_at
RETURNING leader_id;

-- name: leader_get_elected
-- The client whose term has not run out.
SELECT leader_id, elected_at, expires_at
FROM /* TEMPLATE: schema */river_leader
WHERE expires_at >= coalesce(@now, strftime('%Y-%m-%d %H:%M:%f', 'now'));
