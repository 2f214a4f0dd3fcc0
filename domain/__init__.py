"""The pure core: events, fold, decisions. No clock, no randomness, no input or output."""
