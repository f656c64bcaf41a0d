"""The published summary tables of a workload whose steps are few enough to be columns."""
