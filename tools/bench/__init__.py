"""`make bench`: what the load generator costs beside other clients, side by side in one run.

docs/benchmarks/README.md says how each figure is taken.
"""
