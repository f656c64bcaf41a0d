"""The database before and after a step: its size, and the debt that a step leaves."""
