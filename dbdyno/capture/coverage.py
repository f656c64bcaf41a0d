"""Says what of an application its queries do not stand for, how much, and why: coverage.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.model.own_query import Exclusion


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """What the queries stand for, and what they do not."""

    calls: int  # of the source, all
    time_s: float
    queries: int
    covered_calls: int
    covered_time_s: float
    left_out: Sequence[Exclusion]  # that weigh most first
    without_values: int  # queries that have parameters and no values
    refused: Sequence[str]  # names of queries that the parser does not take
    cut: Sequence[str]  # names of queries whose texts may lack their ends
    errors: Mapping[str, int]  # calls by SQLSTATE or number
    notes: Sequence[str]  # what else there is to say, a sentence each


def page(coverage: Coverage) -> str:
    """coverage.md. Holds no text and no value of the application."""
    lines = ["# Coverage", "", summary(coverage) + "."]
    if coverage.left_out:
        lines += [
            "",
            "Left out:",
            "",
            "| why | calls | time | share of time |",
            "|---|--:|--:|--:|",
        ]
        lines += [
            f"| {each.reason} | {each.calls} | {each.time_s:.3f} s "
            f"| {percent(each.time_s, coverage.time_s)} |"
            for each in coverage.left_out
        ]
    if coverage.errors:
        failed = ", ".join(f"{state}: {calls}" for state, calls in sorted(coverage.errors.items()))
        lines += ["", f"Calls that failed, by the server's code: {failed}."]
    notes = list(coverage.notes)
    if coverage.without_values:
        count = coverage.without_values
        verb = (
            "query has parameters whose values are"
            if count == 1
            else ("queries have parameters whose values are")
        )
        notes.append(
            f"{count} {verb} not known: a log has them, or a race draws them from its data"
        )
    for names, what in (
        (coverage.refused, "The parser does not take {}; they are run as they stand"),
        (coverage.cut, "The texts of {} may be cut (`cut = true`); they read, and are run so"),
    ):
        if names:
            notes.append(what.format(", ".join(f"`{name}`" for name in names)))
    if notes:
        lines += ["", *(f"- {note}." for note in notes)]
    return "\n".join(lines) + "\n"


def summary(coverage: Coverage) -> str:
    """The coverage in one sentence, without its full stop."""
    count = "1 query" if coverage.queries == 1 else f"{coverage.queries} queries"
    verb = "stands" if coverage.queries == 1 else "stand"
    if not coverage.time_s:
        share = percent(coverage.covered_calls, coverage.calls)
        return f"{count} {verb} for {share} of {coverage.calls} calls"
    time = percent(coverage.covered_time_s, coverage.time_s)
    calls = percent(coverage.covered_calls, coverage.calls)
    return (
        f"{count} {verb} for {time} of {coverage.time_s:.3f} s "
        f"and {calls} of {coverage.calls} calls"
    )


def percent(part: float, whole: float) -> str:
    """A share in per cent; one that is not all is never written as 100."""
    if not whole:
        return "0 %"
    share = 100 * part / whole
    text = f"{share:.1f}"
    return f"{'99.9' if text == '100.0' and part < whole else text} %"
