"""The statements of a step, and its throughput counted in other ways."""
