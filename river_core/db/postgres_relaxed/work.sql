-- name: claim_commit
-- Fragment, for claims whose commit does not wait for the disk, unless one of them took a job's last attempt: such a
-- job must not run again. Always true; it is asked for each row, and answered once.
coalesce((
    SELECT set_config('synchronous_commit', 'off', true)
    WHERE NOT EXISTS (SELECT FROM claimed AS taken WHERE taken.attempt >= taken.max_attempts)
), '') IS DISTINCT FROM 'never';
