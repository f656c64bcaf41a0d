"""The network between the generators' hosts and the servers: round trips, clocks and bytes."""

from collections.abc import Iterable
from statistics import median

from dbdyno.findings.network.facts import HostLink, NetworkFacts, Way
from dbdyno.model import Cell, Comparison
from dbdyno.model.grouping import grouped
from dbdyno.model.metric.over import taken
from dbdyno.parts import cells, number
from dbdyno.parts.part import Finding, Group, Section, Subject, Text
from dbdyno.parts.table import Column, Row, Table, TableCell

WAYS: tuple[Way, ...] = ("sent", "received")
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

Links = dict[tuple[str, str], list[HostLink]]
"""By arm and host, of each step and block."""


def _links(comparison: Comparison) -> Links:
    """All that is known of each host beside each arm's server, in the plan's order."""
    return grouped(
        ((arm, link.host), link)
        for arm in comparison.arms
        for step in comparison.steps
        for cell in step.cells
        if cell.arm == arm
        for facts in _of(cell)
        for link in facts.network
    )


def _of(cell: Cell) -> list[NetworkFacts]:
    """Of each run of an arm whose load came from other hosts."""
    return [facts for facts in cell.each(NetworkFacts) if facts.network]


def _round_trips_us(links: Iterable[HostLink]) -> list[float]:
    return [link.round_trip_us for link in links if link.round_trip_us is not None]


def _bound_us(links: Iterable[HostLink]) -> float | None:
    """How far wrong a clock's offset may be, at most."""
    return taken((link.offset_bound_us for link in links), "largest")


def sentences(links: Links) -> Iterable[str]:
    """What round trips and clocks mean for the figures; nothing without either."""
    trips = {
        median(known): host
        for (_, host), own in links.items()
        if any(known := _round_trips_us(own))
    }
    if trips:
        longest = max(trips)
        per_s = float(f"{1e6 / longest:.3g}")
        yield (
            "A connection that waits for each answer does at most 1 / (round trip + the server's "
            f"time) statements a second: from {trips[longest]}, {number.time_us(longest)} away, no "
            f"more than about {number.number(per_s)} even if the server took no time."
        )
    bound_us = _bound_us(link for own in links.values() for link in own)
    if bound_us is not None:
        yield (
            "Generators start at one instant, and dyno adds up their seconds, by each host's own "
            f"clock, whose offset is known to ±{number.time_us(bound_us)} or better."
        )


# --- By host ---------------------------------------------------------------------------------


def hosts(comparison: Comparison, links: Links) -> Table:
    """A row for each host beside each arm's server."""
    busiest = "in the step that moved the most in a second, which a pointer on it shows"
    return Table(
        name="network-hosts",
        title="Round trips and clocks",
        columns=Column.heads(
            "arm",
            Column(text="host", left=True, title="where a generator ran"),
            Column(text="round trip", title="the median over steps and blocks"),
            Column(text="clock, ±", title="the largest bound of its offset"),
            *Column.under("MiB/s, busiest step", *WAYS, title=busiest),
        ),
        rows=tuple(
            Row.of(
                arm,
                host,
                *_host_cells(own),
                *(_most(comparison, arm, host, way) for way in WAYS),
                arm=arm,
            )
            for (arm, host), own in links.items()
        ),
        note=cells.sentences(
            "Round trip: until a connection to the server is up, the shortest of some before each "
            "step; the median of these, from the shortest to the longest.",
            "Clock: how far wrong its offset may be, at most.",
        ),
    )


def _host_cells(links: list[HostLink]) -> Iterable[TableCell]:
    """The round trip to a host, and what is known of its clock."""
    trips = _round_trips_us(links)
    low, high = (number.time_us(end(trips, default=None)) for end in (min, max))
    yield TableCell(
        text=number.time_us(median(trips) if trips else None),
        detail=cells.reach(low, high) if low != high else "",
    )
    offset = links[-1].offset_us
    title = "" if offset is None else f"offset at the last step: {number.number(offset / 1e6, 6)} s"
    yield TableCell(text=number.time_us(_bound_us(links)), title=title)


def _most(comparison: Comparison, arm: str, host: str, way: Way) -> TableCell:
    """The step in which the host's interface was busiest."""
    rates = [
        (rate, step.step)
        for step in comparison.steps
        for cell in step.cells
        if cell.arm == arm
        and (rate := taken(facts.per_s(way, host) for facts in _of(cell))) is not None
    ]
    rate, step = max(rates, default=(None, ""))
    return TableCell(text=_mib(rate), title=step)


def _mib(size: float | None) -> str:
    return number.number(None if size is None else size / MIB)


# --- By step ---------------------------------------------------------------------------------


def steps(comparison: Comparison) -> Table:
    """A row for each arm, in a group for each measured step whose load came from other hosts."""
    rows = tuple(
        Row.of(
            cell.arm,
            *_bytes(_of(cell)),
            group=comparison.name_of(step),
            arm=cell.arm,
        )
        for step in comparison.steps
        if step.headline is not None and any(map(_of, step.cells))
        for cell in step.cells
    )
    unknown = any(cell.text == number.MISSING for row in rows for cell in row.cells)
    return Table(
        name="network-steps",
        title="Bytes by step",
        depth="detail",
        columns=Column.heads(
            "arm",
            *Column.under("bytes per operation", *WAYS),
            *Column.under("MiB/s", *WAYS),
        ),
        rows=rows,
        note=cells.sentences(
            "All hosts together; an operation is one of the role that the throughput counts.",
            cells.blocks_note(comparison.blocks),
            BYTES,
            UNKNOWN if unknown else "",
        ),
    )


def _bytes(known: list[NetworkFacts]) -> Iterable[TableCell]:
    for way in WAYS:
        yield cells.over_blocks(facts.per_operation(way) for facts in known)
    for way in WAYS:
        yield cells.over_blocks((facts.per_s(way) for facts in known), _mib)


def _parts(subject: Subject) -> Iterable[Group]:
    links = _links(subject.comparison)
    if not links:
        return
    items = Finding.each(sentences(links))
    means = Text(name="network-means", title=MEANS, items=items, form="paragraphs", look="block")
    by_step = steps(subject.comparison)
    parts = (
        *((means,) if items else ()),
        hosts(subject.comparison, links),
        *((by_step,) if by_step.rows else ()),
    )
    yield Group(name="network", title="Network", parts=parts, of="page")


SECTION = Section("page", _parts)
