-- The record. AUTOINCREMENT: a position is never given twice, not even after a delete.
CREATE TABLE IF NOT EXISTS stored_events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    originator_id TEXT NOT NULL CHECK (length(originator_id) = 32 AND originator_id NOT GLOB '*[^0-9a-f]*'),
    originator_version INTEGER NOT NULL CHECK (
        typeof(originator_version) = 'integer' AND originator_version >= 1
    ),
    topic TEXT NOT NULL CHECK (typeof(topic) = 'text'),
    state BLOB NOT NULL CHECK (typeof(state) = 'blob'),
    UNIQUE (originator_id, originator_version)
);

-- Append-only, held by the database itself.
CREATE TRIGGER IF NOT EXISTS stored_events_no_update BEFORE UPDATE ON stored_events
BEGIN
    SELECT RAISE(ABORT, 'stored_events is append-only');
END;

CREATE TRIGGER IF NOT EXISTS stored_events_no_delete BEFORE DELETE ON stored_events
BEGIN
    SELECT RAISE(ABORT, 'stored_events is append-only');
END;

-- INSERT OR REPLACE would delete the old row without the delete trigger.
CREATE TRIGGER IF NOT EXISTS stored_events_no_replace BEFORE INSERT ON stored_events
WHEN EXISTS (
    SELECT 1 FROM stored_events
    WHERE originator_id = NEW.originator_id AND originator_version = NEW.originator_version
) OR EXISTS (SELECT 1 FROM stored_events WHERE position = NEW.position)
BEGIN
    SELECT RAISE(ABORT, 'stored_events is append-only');
END;
