"""All metrics of a step: the published ones, then the others."""
