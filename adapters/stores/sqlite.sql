-- The record. AUTOINCREMENT: a position is never given twice, not even after a delete.
CREATE TABLE IF NOT EXISTS stored_events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    originator_id TEXT NOT NULL,
    originator_version INTEGER NOT NULL CHECK (originator_version >= 1),
    topic TEXT NOT NULL,
    state BLOB NOT NULL,
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
