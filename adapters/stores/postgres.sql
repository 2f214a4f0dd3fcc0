-- name: log
-- The record. Rows never change, so space for updates is not kept and states are not compressed twice.
CREATE TABLE IF NOT EXISTS stored_events (
    originator_id uuid NOT NULL,
    originator_version bigint NOT NULL CHECK (originator_version >= 1),
    topic text NOT NULL,
    state bytea NOT NULL,
    notification_id bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (originator_id, originator_version)
);
ALTER TABLE stored_events ALTER COLUMN state SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX IF NOT EXISTS stored_events_notification_id_idx ON stored_events (notification_id);

-- name: append-only
-- Held by the database itself, against everybody but a superuser who drops the trigger.
CREATE OR REPLACE FUNCTION stored_events_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'stored_events is append-only';
END $$;
CREATE OR REPLACE TRIGGER stored_events_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON stored_events
    FOR EACH STATEMENT EXECUTE FUNCTION stored_events_refuse();

-- name: order
-- One insert at a time, whoever inserts: positions are given out in the order of the commits, so that
-- no reader passes a position that turns up later. The lock ends with the transaction.
CREATE OR REPLACE FUNCTION stored_events_take_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1952539493, TG_RELID::int);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER stored_events_in_turn BEFORE INSERT ON stored_events
    FOR EACH STATEMENT EXECUTE FUNCTION stored_events_take_turn();
