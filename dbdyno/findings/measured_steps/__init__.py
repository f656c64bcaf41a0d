"""The measured steps of a workload: who takes part, how much is done, for how long."""
