"""The metrics that a workload defines, which its steps tell by themselves."""
