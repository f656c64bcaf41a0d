"""What a role chooses from, as a workload file writes it (docs/workload.md explains)."""

from __future__ import annotations

from dbdyno.model.document import Form
from dbdyno.workload.maker_schema import Number


class ThinkTimeForm(Form):
    """A time in seconds from the exponential distribution of that mean; a longer one is cut."""

    mean: Number
    cap: Number


class ChoiceForm(Form):
    """How often an entry is chosen, and how long its connection is idle before and after it."""

    weight: Number = 1
    before_s: Number | ThinkTimeForm = 0
    after_s: Number | ThinkTimeForm = 0


Weights = dict[str, Number | ChoiceForm]
"""Statements and transactions with their weights."""
