"""A changed cost in microseconds of an operation, and of one that is placed freely."""
