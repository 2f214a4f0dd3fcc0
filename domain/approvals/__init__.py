"""Decisions of people on what a run asks for: an aggregate of its own, beside the run."""
