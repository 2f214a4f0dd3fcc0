"""The world outside: stores, models, tools, importers and the loop that drives them."""
