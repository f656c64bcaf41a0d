"""The throughput of a step, a bar for each arm."""
