"""Where runs are recorded, one module a database."""
