"""Undisturbed time: what an operation takes that no neighbour disturbs."""
