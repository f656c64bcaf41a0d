"""A step at several numbers of clients: what more of them bring, beside as many times as much."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.findings.outcomes.facts import headline_of
from dbdyno.findings.step_pairs.facts import StepPair, StepPairFacts
from dbdyno.findings.sweeps.facts import SweepFacts
from dbdyno.model import Cell, Ratio, StepComparison
from dbdyno.model.grouping import grouped
from dbdyno.model.sweep import CLIENTS, values
from dbdyno.parts import cells, number, step_groups
from dbdyno.parts.drawing import CurvePoint, ScaleUp
from dbdyno.parts.part import AnyPart, Chart, Group, Section, Subject
from dbdyno.parts.table import Column, Depth, Row, Table, TableCell


@dataclass(frozen=True)
class _ClientSweep:
    """The steps of one sweep, the one with the fewest clients first."""

    fewest: int
    first: StepComparison
    others: Mapping[int, StepComparison]  # by their clients, fewer first
    ratios: Mapping[tuple[int, str], Ratio]  # by clients and arm: by the first step

    @property
    def title(self) -> str:
        """The step's name without its clients."""
        return values(self.first.step)[CLIENTS][1]


def _parts(subject: Subject) -> Iterable[AnyPart]:
    """All steps of sweeps over clients in one table where they fit one; then each by itself."""
    every = subject.comparison.of(SweepFacts).of(subject.workloads)
    paced = {sweep.title for sweep in every if sweep.paced and sweep.parameter == CLIENTS}
    pairs = subject.comparison.of(StepPairFacts).of("scale-up", subject.workloads)
    blocks = subject.comparison.blocks
    sweeps = [sweep for sweep in _sweeps(subject.steps, pairs) if sweep.title not in paced]
    whole = _overview(sweeps, blocks, subject.anchor)
    if whole is not None:
        yield whole
    depth: Depth = "brief" if whole is None else "detail"
    for place, sweep in enumerate(sweeps, start=1):
        name = f"{subject.anchor}-scale-up-{place:02}"
        table = replace(_table(sweep, blocks, name), depth=depth)
        table = table if whole is not None else replace(table, entry=table.title)
        chart = _chart(sweep, name)
        yield Group(
            name="",
            parts=(table,) if chart is None else (table, chart),
            depth=depth,
            entry="",
            pair=True,
            fold="Scale-up, step by step",
        )


SECTION = Section("workload", _parts)


def _overview(sweeps: Sequence[_ClientSweep], blocks: int, prefix: str) -> Table | None:
    """All steps of a sweep, a line for each arm, as published.

    None where they are not several, or do not all begin with the same number of clients.
    """
    if len(sweeps) < 2 or len({sweep.fewest for sweep in sweeps}) > 1:
        return None
    fewest = sweeps[0].fewest
    counts = sorted({clients for sweep in sweeps for clients in sweep.others})
    ideal = (TableCell(text=number.number(clients / fewest), tone="quiet") for clients in counts)
    first = Row.of(TableCell(text="ideal", tone="quiet"), "", *ideal)
    return Table(
        name=f"{prefix}-scale-up",
        title="Scale-up",
        depth="brief",
        look="inline",
        entry="scale-up",
        columns=Column.heads(
            "arm",
            *Column.under("clients", *(f"{clients:,}" for clients in (fewest, *counts))),
        ),
        rows=(first, *(row for sweep in sweeps for row in _overview_rows(sweep, counts))),
        note="Throughput per second with the fewest clients; with more clients, the ratio to it"
        + (f", with the 95 % t interval of {blocks} blocks." if blocks > 1 else "."),
    )


def _overview_rows(sweep: _ClientSweep, counts: Sequence[int]) -> Iterable[Row]:
    for place, result in enumerate(sweep.first.cells):
        more = (
            _times(sweep, clients, result, sweep.others[clients].cells[place])
            if clients in sweep.others
            else TableCell(text="")
            for clients in counts
        )
        row = (TableCell(text=result.arm), cells.absolute_cell(result, ""), *more)
        yield Row.of(*row, group=sweep.title, arm=result.arm)


def _sweeps(steps: Sequence[StepComparison], pairs: Iterable[StepPair]) -> list[_ClientSweep]:
    by_first = grouped((pair.first_step, pair) for pair in pairs)
    listed = [step.step for some in step_groups.ordered(steps).values() for step in some]
    places = {name: place for place, name in enumerate(listed)}
    first = sorted(by_first, key=lambda name: places.get(name, len(places)))
    return [_sweep(steps, by_first[name]) for name in first]


def _sweep(steps: Sequence[StepComparison], pairs: Sequence[StepPair]) -> _ClientSweep:
    by_name = {step.step: step for step in steps}
    others = {pair.second_clients or 0: by_name[pair.second_step] for pair in pairs}
    return _ClientSweep(
        fewest=pairs[0].first_clients or 0,
        first=by_name[pairs[0].first_step],
        others=dict(sorted(others.items())),
        ratios={
            (pair.second_clients or 0, pair.arm): pair.ratio
            for pair in pairs
            if pair.ratio is not None
        },
    )


def _table(sweep: _ClientSweep, blocks: int, name: str) -> Table:
    """A row for each number of clients, and for each arm its throughput, also by the first."""
    arms = [result.arm for result in sweep.first.cells]
    first = Row.of(
        f"{sweep.fewest:,}",
        "1.00",
        *(
            cell
            for result in sweep.first.cells
            for cell in (cells.absolute_cell(result, ""), TableCell(text="1.00"))
        ),
    )
    interval = f", with its 95 % t interval over {blocks} blocks" if blocks > 1 else ""
    counted = headline_of(sweep.first).rate
    rows = (first, *(_row(sweep, clients) for clients in sweep.others))
    return Table(
        name=f"{name}-table",
        title=f"{sweep.title}: scale-up",
        look="inline",
        columns=(
            Column(text="clients"),
            Column(text="ideal", title="proportional to the clients"),
            *(
                column
                for arm in arms
                for column in (
                    Column(text=counted, group=arm, arm=arm),
                    Column(text=number.TIMES, group=arm, arm=arm),
                )
            ),
        ),
        rows=rows,
        note=cells.sentences(
            f"{number.TIMES}: relative to the same arm with the fewest clients{interval}; "
            "ideal: proportional to the clients.",
            cells.legend(rows, cells.INCOMPLETE_MARK),
        ),
    )


def _row(sweep: _ClientSweep, clients: int) -> Row:
    own = [
        cell
        for first, result in zip(sweep.first.cells, sweep.others[clients].cells, strict=True)
        for cell in (cells.absolute_cell(result, ""), _times(sweep, clients, first, result))
    ]
    ideal = number.number(clients / sweep.fewest)
    return Row.of(f"{clients:,}", ideal, *own)


def _times(sweep: _ClientSweep, clients: int, first: Cell, result: Cell) -> TableCell:
    ratio = sweep.ratios.get((clients, result.arm))
    if ratio is None:
        return TableCell(text=number.MISSING)
    return cells.quotient_cell(ratio, first, result)


def _chart(sweep: _ClientSweep, name: str) -> Chart | None:
    points = tuple(
        CurvePoint(arm=result.arm, x=clients, figure=ratio)
        for result in sweep.first.cells
        for clients in sweep.others
        if (ratio := sweep.ratios.get((clients, result.arm))) is not None
    )
    if not points:
        return None
    words = (
        f"{point.arm} {number.ratio(point.figure.value)} times with {point.x:g} clients"
        for point in points
    )
    return Chart(
        name=name,
        title=f"{sweep.title}: throughput relative to the fewest clients, log scale; "
        "dashed: proportional to the clients",
        describe="; ".join(words),
        data=ScaleUp(clients=(sweep.fewest, *sweep.others), points=points),
    )
