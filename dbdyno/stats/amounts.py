"""Amounts of which some may not be told: what follows from all is not known then either. Pure."""

from collections.abc import Iterable


def total(amounts: Iterable[int | None]) -> int | None:
    """The sum, 0 of none; None where one of them is not known."""
    known = list(amounts)
    return None if None in known else sum(filter(None, known))


def longest(amounts: Iterable[int | None]) -> int | None:
    """The largest, 0 of none; None where one of them is not known."""
    known = list(amounts)
    return None if None in known else max(filter(None, known), default=0)
