"""Steps that a sweep repeats with other values: curves, and where each arm peaks."""
