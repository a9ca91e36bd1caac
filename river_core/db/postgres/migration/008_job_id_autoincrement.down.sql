-- Ids from a sequence are never used twice, so Postgres has nothing to change; SQLite has.
SELECT 1;
