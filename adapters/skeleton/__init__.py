"""A new agent, as files to begin with."""
