"""Raw files of a step, read once: what every figure of it is derived from."""
