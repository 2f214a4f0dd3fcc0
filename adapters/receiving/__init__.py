"""Spans that come in over the network, and where they wait until their trace is complete."""
