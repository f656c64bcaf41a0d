"""Reads the machine: its facts, and its counters by owner each second."""
