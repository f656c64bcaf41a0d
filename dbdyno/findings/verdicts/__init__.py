"""The word of each step, with the figures behind it."""
