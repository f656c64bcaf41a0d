"""Arithmetic of judging: intervals, tests, power, decisions, histograms; no files, no clock."""
