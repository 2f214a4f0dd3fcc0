"""Foreign transcripts to recorded runs, one module a format."""
