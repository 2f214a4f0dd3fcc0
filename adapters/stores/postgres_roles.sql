-- name: roles
-- A writer that can add to the record and no more, not even choose a position; a reader that can only read.
DO $$
BEGIN
    CREATE ROLE tachograph_writer NOLOGIN;
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;
DO $$
BEGIN
    CREATE ROLE tachograph_reader NOLOGIN;
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;
REVOKE ALL ON stored_events FROM PUBLIC, tachograph_writer, tachograph_reader;
GRANT SELECT, INSERT (originator_id, originator_version, topic, state) ON stored_events TO tachograph_writer;
GRANT SELECT ON stored_events TO tachograph_reader;
