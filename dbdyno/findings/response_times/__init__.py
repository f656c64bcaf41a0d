"""The response and service times of a step: percentiles, and shares of the published buckets."""
