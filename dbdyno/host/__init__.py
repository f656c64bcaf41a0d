"""Observes the machine: its facts, its counters by owner, and what disturbs it."""
