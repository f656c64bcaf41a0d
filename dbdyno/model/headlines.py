"""The headlines that a step can have: what each counts, in words, and of what it tells."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dbdyno.model import metric
from dbdyno.model.step import Headline


@dataclass(frozen=True, kw_only=True)
class HeadlineKind:
    """The facts of a headline that follow from its name."""

    counted: str  # what it counts: "rows inserted"
    singular: str = "operation"  # what costs are shared out to, one of it
    many: str = "operations"
    in_full: str = ""  # `singular` where it stands without a table; empty: the same
    times_of: str = "other"  # whose response times are its own: insert, query, other
    whole: bool = False  # it tells of the whole window alone, whatever its role did in it
    per_second: bool = True  # whether it is a rate
    span_s: int = 1  # its rate is that of so many seconds

    @property
    def rate(self) -> str:
        """What it is called in the headings of tables: `rows inserted/s`."""
        if not self.per_second:
            return self.counted
        return f"{self.counted}/{'min' if self.span_s == 60 else 's'}"

    @property
    def rate_in_words(self) -> str:
        """The same in a sentence: rows inserted per second."""
        if not self.per_second:
            return self.counted
        return f"{self.counted} per {'minute' if self.span_s == 60 else 'second'}"

    @property
    def unit(self) -> str:
        """One of what costs are shared out to, in a sentence."""
        return self.in_full or self.singular


HEADLINES: Mapping[str, HeadlineKind] = {
    "ips": HeadlineKind(counted="rows inserted", singular="row", many="rows", times_of="insert"),
    "qps": HeadlineKind(counted="queries", singular="query", many="queries", times_of="query"),
    "opm": HeadlineKind(counted="operations", span_s=60),
    "scan": HeadlineKind(
        counted="rows scanned", singular="row", many="rows", in_full="row scanned", times_of="query"
    ),
    "riops": HeadlineKind(counted="rows read or updated", singular="row", many="rows"),
    "seconds": HeadlineKind(counted="seconds", whole=True, per_second=False),
    "mbps": HeadlineKind(counted="MiB", whole=True),
}
"""All of them, by the metric that each is (dbdyno.model.metric)."""


def kind_of(name: str | None, operations: Iterable[str] = ()) -> HeadlineKind:
    """What is known of a headline; of another name, or of none, nothing but itself.

    `operations`: those that it counts, where it does not count all of its role's.
    """
    headline = HEADLINES.get(name or "") or HeadlineKind(counted=name or "", per_second=False)
    counted = ", ".join(map(plural, operations))
    return replace(headline, counted=counted) if counted else headline


def unit_of(headline: Headline) -> str:
    """The unit of a headline's rate: queries/s, new orders/min."""
    if headline.operations:
        return kind_of(headline.metric, headline.operations).rate
    return metric.by_name(headline.metric).unit


def scale_of(headline: Headline) -> int:
    """What a count a second is multiplied by to be the headline's rate: 60 for new orders/min."""
    return (headline.each or 1) * kind_of(headline.metric).span_s


def plural(operation: str) -> str:
    """What an operation's name says, for many of them: new orders, deliveries."""
    words = operation.replace("_", " ")
    if words.endswith("y") and words[-2:-1] not in "aeiou":
        return f"{words[:-1]}ies"
    return f"{words}es" if words.endswith(("s", "x", "ch", "sh")) else f"{words}s"
