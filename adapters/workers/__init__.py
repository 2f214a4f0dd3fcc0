"""Runs that are submitted now and done later, by any number of processes."""
