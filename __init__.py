"""Tachograph: runs an LLM agent, records every step, and rebuilds the run from the record."""
