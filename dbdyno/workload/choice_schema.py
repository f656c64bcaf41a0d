"""What a role chooses from and when clients begin, in a workload file (docs/workload.md)."""

from dbdyno.model.document import Form
from dbdyno.workload.maker_schema import Number


class ClientStaggerForm(Form):
    """How clients begin one after the other; 0: together."""

    first_s: Number
    each_s: Number


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
