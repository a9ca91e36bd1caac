-- name: leader_delete_expired
-- Removes a term that has run out, so that the next bid can win.
DELETE FROM /* TEMPLATE: schema */river_leader
WHERE expires_at < coalesce(@now::text::timestamptz, now());

-- name: leader_attempt_elect
-- Begins a term of @ttl seconds unless somebody leads; a returned row means that the bid won.
INSERT INTO /* TEMPLATE: schema */river_leader (leader_id, elected_at, expires_at)
VALUES (
    @leader_id::text,
    coalesce(@now::text::timestamptz, now()),
    coalesce(@now::text::timestamptz, now()) + make_interval(secs => @ttl::float8)
)
ON CONFLICT (name) DO NOTHING
RETURNING elected_at;

-- name: leader_attempt_reelect
-- Prolongs exactly this term; no row means that it ran out or that somebody else leads. Waits for the row at most
-- @milliseconds: in one statement, since a leader that has nothing to do sends few others.
UPDATE /* TEMPLATE: schema */river_leader
SET expires_at = coalesce(@now::text::timestamptz, now()) + make_interval(secs => @ttl::float8)
FROM (SELECT set_config('lock_timeout', @milliseconds::bigint::text, true) AS value) AS patience
WHERE patience.value IS NOT NULL
  AND leader_id = @leader_id::text
  AND elected_at = @elected_at::text::timestamptz
  AND expires_at >= coalesce(@now::text::timestamptz, now())
RETURNING elected_at;

-- name: leader_resign
-- Ends exactly this term, never a newer one of the same client.
DELETE FROM /* TEMPLATE: schema */river_leader
WHERE leader_id = @leader_id::text
  AND elected_at = @elected_at::text::timestamptz
RETURNING leader_id;

-- name: leader_get_elected
-- The client whose term has not run out.
SELECT leader_id, elected_at, expires_at
FROM /* TEMPLATE: schema */river_leader
WHERE expires_at >= coalesce(@now::text::timestamptz, now());
