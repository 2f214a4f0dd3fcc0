-- name: roles
-- Whoever may add to the record may submit: put a job in, with what procrastinate's triggers write beside it.
GRANT SELECT, INSERT ON procrastinate_jobs, procrastinate_events TO tachograph_writer;
GRANT USAGE ON SEQUENCE procrastinate_jobs_id_seq, procrastinate_events_id_seq TO tachograph_writer;
