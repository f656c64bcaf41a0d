"""The head of a report: each arm against the base, confidence, failures."""
