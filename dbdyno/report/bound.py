"""Numbers that the load generator limited: `≥ 12,345`, and what a ratio of such still tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dbdyno.model import Bound
from dbdyno.model import Cell as Result
from dbdyno.report.parts import Tone

SIGNS: Mapping[Bound, str] = {"at least": "≥", "at most": "≤"}
BOTH = "limited on both"
"""What stands beside a ratio of two limited numbers, which may be off in either direction."""

_NOTES: Mapping[Bound, str] = {
    "at least": "≥: the load generator was at its limit; the true number is at least this.",
    "at most": "≤: the load generator was at its limit with the base; it is at most this.",
    "unknown": f"“{BOTH}”: it was at its limit with both arms; the ratio cannot be told.",
}


def signed(text: str, bound: Bound) -> str:
    """A number with the sign that says what it is to the true one."""
    return f"{SIGNS[bound]} {text}" if bound in SIGNS else text


def note(bounds: Iterable[Bound]) -> str:
    """What the signs and words mean of which these are there."""
    there = set(bounds)
    return " ".join(text for bound, text in _NOTES.items() if bound in there)


def reasons(result: Result) -> str:
    """What limited the load generator in which blocks, in words; nothing where nothing did."""
    words = [f"block {run.block}: {', '.join(run.limited)}" for run in result.runs if run.limited]
    return f"load generator at its limit: {'; '.join(words)}" if words else ""


def of_quotient(first: Bound, second: Bound) -> Bound:
    """What the second number by the first is, of numbers that are exact or at least."""
    if first == "exact":
        return second
    return "at most" if second == "exact" else "unknown"


def justified(tone: Tone, bound: Bound) -> Tone:
    """A colour where it also holds for the true number; none where that may lie elsewhere."""
    wrong: Mapping[Bound, tuple[Tone, ...]] = {
        "at least": ("red", "yellow", "slower", "alike"),
        "at most": ("green", "blue", "faster", "alike"),
        "unknown": ("red", "yellow", "green", "blue", "slower", "faster", "alike"),
    }
    return "" if tone in wrong.get(bound, ()) else tone
