"""Where each value of a decision came from: a pure function of the recorded events of a trace."""
