"""The network between the generators' hosts and the servers: round trips, clocks and bytes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from dbdyno.model import Cell, Comparison, Network, StepComparison
from dbdyno.parts import cells, number
from dbdyno.parts.part import (
    Column,
    Finding,
    Group,
    Row,
    Section,
    Subject,
    Table,
    TableCell,
    Text,
)
from dbdyno.report import network as figures
from dbdyno.report.network import WAYS, LinkFigures, Way

MIB = 1 << 20
MEANS = "What the network means for the figures"
BYTES = (
    "Bytes are those of each host's interface towards the server, from the load's beginning, "
    "warm-up included, to the window's end: of the database, of dyno's own messages and of all "
    "else that passes there."
)
UNKNOWN = (
    "NA: nobody knows: the server is on the same host, its arms share the hosts in turns, or the "
    "interface has no counter."
)


def sentences(comparison: Comparison) -> Iterable[str]:
    """What round trips and clocks mean for the figures; nothing without either."""
    found = [link for arm in comparison.arms for link in _links(comparison, arm)]
    trips = {link.round_trip_us: link.host for link in found if link.round_trip_us}
    if trips:
        longest = max(trips)
        per_s = float(f"{1e6 / longest:.3g}")
        yield (
            "A connection that waits for each answer does at most 1 / (round trip + the server's "
            f"time) statements a second: from {trips[longest]}, {number.time_us(longest)} away, no "
            f"more than about {number.number(per_s)} even if the server took no time."
        )
    bounds = [link.offset_bound_us for link in found if link.offset_bound_us is not None]
    if bounds:
        yield (
            "Generators start at one instant, and dyno adds up their seconds, by each host's own "
            f"clock, whose offset is known to ±{number.time_us(max(bounds))} or better."
        )


def _links(comparison: Comparison, arm: str) -> list[LinkFigures]:
    return figures.links(figures.networks(comparison.steps, arm))


# --- By host ---------------------------------------------------------------------------------


def hosts(comparison: Comparison) -> Table:
    """A row for each host beside each arm's server."""
    rows = tuple(
        Row(cells=tuple(_host_cells(comparison, arm, link)), arm=arm)
        for arm in comparison.arms
        for link in _links(comparison, arm)
    )
    busiest = "in the step that moved the most in a second, which a pointer on it shows"
    return Table(
        name="network-hosts",
        title="Round trips and clocks",
        columns=(
            Column(text="arm", left=True),
            Column(text="host", left=True, title="where a generator ran"),
            Column(text="round trip", title="the median over steps and blocks"),
            Column(text="clock, ±", title="the largest bound of its offset"),
            *(Column(text=way, group="MiB/s, busiest step", title=busiest) for way in WAYS),
        ),
        rows=rows,
        note=cells.sentences(
            "Round trip: until a connection to the server is up, the shortest of some before each "
            "step; the median of these, from the shortest to the longest.",
            "Clock: how far wrong its offset may be, at most.",
        ),
    )


def _host_cells(comparison: Comparison, arm: str, link: LinkFigures) -> Iterable[TableCell]:
    yield TableCell(text=arm)
    yield TableCell(text=link.host)
    yield _round_trip(link)
    offset = link.offset_us
    title = "" if offset is None else f"offset at the last step: {number.number(offset / 1e6, 6)} s"
    yield TableCell(text=number.time_us(link.offset_bound_us), title=title)
    for way in WAYS:
        yield _most(comparison, arm, link.host, way)


def _round_trip(link: LinkFigures) -> TableCell:
    trips = link.round_trips_us
    low, high = (number.time_us(end(trips, default=None)) for end in (min, max))
    detail = cells.reach(low, high) if low != high else ""
    return TableCell(text=number.time_us(link.round_trip_us), detail=detail)


def _most(comparison: Comparison, arm: str, host: str, way: Way) -> TableCell:
    """The step in which the host's interface was busiest."""
    found = [
        (value, step.step)
        for step in comparison.steps
        for result in step.cells
        if result.arm == arm
        for value in [figures.mean(figures.of(result), partial(_per_s, way=way, host=host))]
        if value is not None
    ]
    if not found:
        return TableCell(text=number.MISSING)
    value, step = max(found)
    return TableCell(text=number.number(value), title=step)


def _per_s(network: Network, way: Way, host: str | None = None) -> float | None:
    """MiB a second, of a host or of all."""
    value = figures.per_s(network, way, host)
    return None if value is None else value / MIB


# --- By step ---------------------------------------------------------------------------------


def steps(comparison: Comparison) -> Table:
    """A row for each arm, in a group for each step."""
    several = len({step.workload for step in comparison.steps}) > 1
    rows = tuple(
        Row(
            cells=(TableCell(text=result.arm), *_bytes(result)),
            group=f"{step.workload} {step.step}" if several else step.step,
            arm=result.arm,
        )
        for step in _shown(comparison)
        for result in step.cells
    )
    unknown = any(cell.text == number.MISSING for row in rows for cell in row.cells)
    return Table(
        name="network-steps",
        title="Bytes by step",
        depth="detail",
        columns=(
            Column(text="arm", left=True),
            *(Column(text=way, group="bytes per operation") for way in WAYS),
            *(Column(text=way, group="MiB/s") for way in WAYS),
        ),
        rows=rows,
        note=cells.sentences(
            "All hosts together; an operation is one of the role that the throughput counts.",
            cells.blocks_note(comparison.blocks),
            BYTES,
            UNKNOWN if unknown else "",
        ),
    )


def _shown(comparison: Comparison) -> list[StepComparison]:
    """The measured steps whose load came from other hosts."""
    return [
        step
        for step in comparison.steps
        if step.headline is not None and any(any(figures.of(cell)) for cell in step.cells)
    ]


def _bytes(result: Cell) -> Iterable[TableCell]:
    found = list(figures.of(result))
    for way in WAYS:
        yield cells.over_blocks(figures.per_operation(one, way) for one in found)
    for way in WAYS:
        yield cells.over_blocks(_per_s(one, way) for one in found)


def _parts(subject: Subject) -> Iterable[Group]:
    comparison = subject.comparison
    if not any(any(figures.networks(comparison.steps, arm)) for arm in comparison.arms):
        return
    said = tuple(Finding(text=text) for text in sentences(comparison))
    by_step = steps(comparison)
    yield Group(
        name="network",
        title="Network",
        parts=(
            *(
                (
                    Text(
                        name="network-means",
                        title=MEANS,
                        items=said,
                        form="paragraphs",
                        look="block",
                    ),
                )
                if said
                else ()
            ),
            hosts(comparison),
            *((by_step,) if by_step.rows else ()),
        ),
        of="page",
    )


SECTION = Section("page", _parts)
