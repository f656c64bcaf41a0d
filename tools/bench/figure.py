"""A figure: the values of one thing that was measured, its target, and how both are shown."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench import pairs
from dbdyno.model import Json

COLUMNS = (("measure", 8), ("conn.", 6), ("beside", 11), ("figure", 11), ("median", 23))
"""The table's columns but the last two, and their widths; a line has at most 80 characters."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A bound for the median: at most, at least, or so far off on either side."""

    bound: float
    at_least: bool = False
    within: float | None = None

    def __str__(self) -> str:
        if self.within is not None:
            return f"{self.bound:g}±{self.within:g}"
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"

    def is_met(self, value: float) -> bool:
        """Whether a value is on the right side, the bound included."""
        if self.within is not None:
            return self.bound - self.within <= value <= self.bound + self.within
        return value >= self.bound if self.at_least else value <= self.bound


def at_most(bound: float | None) -> Target | None:
    """The target of so much at most; none where there is no bound."""
    return None if bound is None else Target(bound=bound)


def alike(within: float | None) -> Target | None:
    """The target of a ratio of 1, so far off at most; none where there is no bound."""
    return None if within is None else Target(bound=1.0, within=within)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One row of the table: one value for each pair, or each block, or one alone."""

    measurement: str
    beside: str  # the other arm; or the step and arm
    what: str  # with its unit: "CPU ratio", "MiB"
    values: tuple[float, ...] = ()
    connections: int | None = None
    target: Target | None = None
    digits: int = 2

    missing: str | None = None  # why there are no values
    detail: Json | None = None  # what else was found, for the file of figures
    samples: tuple[Json, ...] = ()  # what the values come from, a run by arm for each pair

    @property
    def result(self) -> str:
        """`met`, `missed`, why it was not measured, or nothing where there is no target."""
        if self.missing is not None:
            return self.missing.partition(":")[0]
        if self.target is None:
            return ""
        return "met" if self.target.is_met(statistics.median(self.values)) else "missed"

    def row(self) -> str:
        """A line of the table."""
        texts = (
            self.measurement,
            "" if self.connections is None else f"{self.connections:,}",
            self.beside,
            self.what,
            pairs.spread(self.values, self.digits) if self.values else "",
        )
        return line(texts, str(self.target or ""), self.result)

    def json(self) -> Json:
        """The figure with all its values."""
        return {
            "measurement": self.measurement,
            "connections": self.connections,
            "beside": self.beside,
            "what": self.what,
            "median": statistics.median(self.values) if self.values else None,
            "values": [round(value, 4) for value in self.values],
            "target": None if self.target is None else str(self.target),
            "result": self.result or None,
            "detail": self.detail,
            "samples": list(self.samples),
        }


def costs(figures: Iterable[Figure]) -> Iterator[str]:
    """A second table: what each arm took in itself, medians over its runs."""
    names = f"{'measure':<8}{'conn.':<6}{'arm':<14}"
    yield f"{names}{'CPU µs':>10}{'user µs':>10}{'per second':>13}"
    for figure in figures:
        for name in figure.samples[0] if figure.samples else ():
            runs = [sample[name] for sample in figure.samples]
            cpu_us, user_us, per_s = (
                statistics.median(run[key] for run in runs)
                for key in ("cpu_us", "user_us", "per_s")
            )
            yield (
                f"{figure.measurement:<8}{figure.connections:<6,}{name:<14}"
                f"{cpu_us:>10.2f}{user_us:>10.2f}{per_s:>13,.0f}"
            )


def line(texts: Sequence[str], target: str, result: str) -> str:
    """A line of the table, its head included."""
    widths = [width for _, width in COLUMNS]
    cells = [f"{text:<{width}}" for text, width in zip(texts, widths, strict=True)]
    return f"{''.join(cells)}{target:<8}{result}".rstrip()


def head() -> str:
    """The table's first line."""
    return line([name for name, _ in COLUMNS], "target", "result")
