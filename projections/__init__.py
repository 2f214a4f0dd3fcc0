"""Read models: what the events of many runs add up to."""
