"""Measures: blocks, arms, steps, and what drives their load."""
