"""The headlines that a step can have: what each counts, in words, and of what it tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Kind:
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
    def unit(self) -> str:
        """One of what costs are shared out to, in a sentence."""
        return self.in_full or self.singular


HEADLINES: Mapping[str, Kind] = {
    "ips": Kind(counted="rows inserted", singular="row", many="rows", times_of="insert"),
    "qps": Kind(counted="queries", singular="query", many="queries", times_of="query"),
    "opm": Kind(counted="operations", span_s=60),
    "scan": Kind(
        counted="rows scanned", singular="row", many="rows", in_full="row scanned", times_of="query"
    ),
    "riops": Kind(counted="rows read or updated", singular="row", many="rows"),
    "seconds": Kind(counted="seconds", whole=True, per_second=False),
    "mbps": Kind(counted="MiB", whole=True),
}
"""All of them, by the metric that each is (dbdyno.model.metric)."""


def kind_of(name: str | None) -> Kind:
    """What is known of a headline; of another name, or of none, nothing but itself."""
    return HEADLINES.get(name or "") or Kind(counted=name or "", per_second=False)
