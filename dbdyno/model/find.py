"""A search for the highest rate: what a plan asks for, and a window of it."""

from dataclasses import dataclass

from dbdyno.model.json import Positive

FIND = ".find-"
"""The mark in the names of a search's windows, before their number."""
METRIC = "highest_rate"
"""The metric that a search gives to its step."""


@dataclass(frozen=True, kw_only=True)
class SearchWindow:
    """A window of a search: so many operations are due each second, at random."""

    per_s: Positive
    closed_per_s: Positive  # what the same connections did as fast as they could
    p99_below_us: Positive
