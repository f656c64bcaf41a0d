"""Raw files of a step to its metrics."""
