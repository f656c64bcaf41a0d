"""The steps of a workload in groups, as the published microbenchmarks are read."""
