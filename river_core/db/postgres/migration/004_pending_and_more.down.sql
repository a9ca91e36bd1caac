-- Postgres cannot take a value out of an enum, so 'pending' stays in the type.
ALTER TABLE /* TEMPLATE: schema */river_leader
    ALTER COLUMN name DROP DEFAULT,
    DROP CONSTRAINT name_length,
    ADD CONSTRAINT name_length CHECK (char_length(name) > 0 AND char_length(name) < 128);

DROP TABLE /* TEMPLATE: schema */river_queue;

ALTER TABLE /* TEMPLATE: schema */river_job
    ALTER COLUMN args DROP NOT NULL,
    ALTER COLUMN metadata DROP DEFAULT,
    ALTER COLUMN metadata DROP NOT NULL,
    DROP CONSTRAINT finalized_or_finalized_at_null,
    ADD CONSTRAINT finalized_or_finalized_at_null CHECK (
        (state IN ('cancelled', 'completed', 'discarded') AND finalized_at IS NOT NULL)
        OR finalized_at IS NULL
    );

CREATE FUNCTION /* TEMPLATE: schema */river_job_notify() RETURNS trigger LANGUAGE plpgsql AS
$notify$
BEGIN
    IF NEW.state = 'available' THEN
        PERFORM pg_notify('river_insert', json_build_object('queue', NEW.queue)::text);
    END IF;
    RETURN NULL;
END;
$notify$;

CREATE TRIGGER river_notify AFTER INSERT ON /* TEMPLATE: schema */river_job
    FOR EACH ROW EXECUTE FUNCTION /* TEMPLATE: schema */river_job_notify();
