-- name: session_wal
-- Lets readers go on beside one writer; the mode stays with the file.
PRAGMA journal_mode = WAL;

-- name: session_data_version
-- A number that changes when another connection has committed.
PRAGMA data_version;

-- name: session_database_list
-- The files behind a connection.
PRAGMA database_list;

-- name: session_has_jsonb
-- Fails where our own JSON functions, or those that an older SQLite library lacks, are not registered yet.
SELECT river_json(jsonb('{}'));

-- name: transaction_begin_deferred
-- Opens a transaction that locks at its first write, as the sqlite3 module does by itself.
BEGIN DEFERRED;

-- name: transaction_begin_immediate
-- Opens a write transaction and waits for the one writer before it.
BEGIN IMMEDIATE;

-- name: transaction_begin_exclusive
-- Opens a transaction that also keeps readers out, for connections that ask for it.
BEGIN EXCLUSIVE;
