"""Response and service times of a step: percentiles, and the ten published buckets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from dbdyno.model.facts import Facts, columns, says

BUCKETS_US: Mapping[str, int] = {
    "256 µs": 256,
    "1 ms": 1_000,
    "4 ms": 4_000,
    "16 ms": 16_000,
    "64 ms": 64_000,
    "256 ms": 256_000,
    "1 s": 1_000_000,
    "4 s": 4_000_000,
    "16 s": 16_000_000,
}
"""The greatest time of each published bucket, in words; a tenth has all beyond."""
HEADINGS = tuple(words.replace(" ", "").replace("µ", "u") for words in BUCKETS_US)
"""The same as the published tables have it."""
_FIRST, *_, _LAST = BUCKETS_US
_COLUMNS = {
    f"to_{heading}": f"responses {'' if words == _FIRST else 'above that '}up to {words}"
    for heading, words in zip(HEADINGS, BUCKETS_US, strict=True)
} | {f"above_{HEADINGS[-1]}": f"responses above {_LAST}"}


@dataclass(frozen=True, kw_only=True)
class ResponseTimes:
    """Times of one kind of work or of one operation, all clients and seconds merged."""

    of: Annotated[
        Literal["kind", "operation"], says("kind (insert, delete, query) or operation")
    ] = "kind"
    name: Annotated[str, says("the kind or the operation")] = ""
    count: Annotated[int, says("number of responses")]
    p50_us: Annotated[float, says("median", "µs")]
    p90_us: Annotated[float, says("90th percentile", "µs")]
    p99_us: Annotated[float, says("99th percentile", "µs")]
    p999_us: Annotated[float, says("99.9th percentile", "µs")]
    max_us: Annotated[int, says("the longest", "µs")]
    mean_us: Annotated[
        float | None, says("mean, of exact sums; null: the load does not report them", "µs")
    ] = None
    # Of the population, of the same sums.
    sd_us: Annotated[float | None, says("standard deviation, likewise", "µs")] = None
    buckets: Annotated[tuple[int, ...], columns(_COLUMNS)]
    paced: bool = False  # due by a schedule, not in a loop
    at_least: tuple[str, ...] = ()  # percentiles of which no more is known: "p99_us"


@dataclass(frozen=True, kw_only=True)
class ResponseFacts(Facts):
    """The times of a step's window: of each kind of work, then of each operation."""

    response: Annotated[
        tuple[ResponseTimes, ...],
        says(
            "response times of a kind of operation, or of one operation, in a window: from "
            "the due time to completion"
        ),
    ] = ()
    service: Annotated[
        tuple[ResponseTimes, ...],
        says(
            "service times of the same: from sending to completion, as in the published "
            "tables of response times; no rows if the generator did not report them"
        ),
    ] = ()

    @property
    def by_kind(self) -> dict[str, ResponseTimes]:
        """The response times of kinds of work, by name."""
        return {times.name: times for times in self.response if times.of == "kind"}
