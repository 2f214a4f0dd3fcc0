"""Which clauses of laws and standards each report serves, as dated data."""
