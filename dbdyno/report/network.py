"""What the network between generators and server came to, over blocks: for pages and for JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Literal

from dbdyno.model import Cell, Link, Network, StepComparison
from dbdyno.model.metric.over import taken

Way = Literal["sent", "received"]
WAYS: tuple[Way, ...] = ("sent", "received")


@dataclass(frozen=True, kw_only=True)
class LinkFigures:
    """A generator's host beside an arm's server; None: not known."""

    host: str
    round_trips_us: tuple[float, ...]  # one for each step and block that tells it
    offset_us: float | None  # of the last one
    offset_bound_us: float | None  # the largest

    @property
    def round_trip_us(self) -> float | None:
        """The median."""
        return median(self.round_trips_us) if self.round_trips_us else None


def networks(steps: Iterable[StepComparison], arm: str) -> Iterator[Network]:
    """Those of the arm's runs whose load came from other hosts, step by step."""
    return (found for step in steps for cell in step.cells if cell.arm == arm for found in of(cell))


def of(cell: Cell) -> Iterator[Network]:
    """Those of an arm's runs of a step."""
    return (run.network for run in cell.runs if run.network is not None)


def links(found: Iterable[Network]) -> list[LinkFigures]:
    """Each host with its round trips and its clock, in the plan's order."""
    by_host: dict[str, list[Link]] = {}
    for network in found:
        for host, link in network.links.items():
            by_host.setdefault(host, []).append(link)
    return [_figures(host, its) for host, its in by_host.items()]


def _figures(host: str, its: list[Link]) -> LinkFigures:
    bounds = [link.offset_bound_us for link in its if link.offset_bound_us is not None]
    return LinkFigures(
        host=host,
        round_trips_us=tuple(one.round_trip_us for one in its if one.round_trip_us is not None),
        offset_us=its[-1].offset_us,
        offset_bound_us=max(bounds, default=None),
    )


# --- Bytes -----------------------------------------------------------------------------------


def per_operation(network: Network, way: Way) -> float | None:
    """Bytes of all hosts for each operation; None where a host's are not known, or no operation."""
    return _quotient(carried(network, way), network.operations)


def per_s(network: Network, way: Way, host: str | None = None) -> float | None:
    """Bytes a second: of a host, or of all of them."""
    return _quotient(carried(network, way, host), network.seconds)


def carried(network: Network, way: Way, host: str | None = None) -> int | None:
    """The bytes of a host, or of all; None where they are not known."""
    its = [link for name, link in network.links.items() if host in (None, name)]
    counts = [link.sent_bytes if way == "sent" else link.received_bytes for link in its]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def mean(found: Iterable[Network], figure: Callable[[Network], float | None]) -> float | None:
    """The mean over blocks of a figure; None where no block tells it."""
    return taken(map(figure, found))


def _quotient(amount: int | None, by: float | None) -> float | None:
    return None if amount is None or not by else amount / by
