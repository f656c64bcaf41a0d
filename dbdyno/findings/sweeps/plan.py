"""Steps that a sweep repeats with other values side by side: curves, peaks and drops.

Which steps belong together is in their names, `select-only@clients=4,rate=500` (docs/workload.md).
A peak is of a block that has the whole sweep, and peaks are compared within blocks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.findings.sweeps.facts import Peak, Sweep, SweepFacts, SweepPoint, SweptValue
from dbdyno.judge.pairing import by_block
from dbdyno.judge.step_cells import StepRow
from dbdyno.model import Cell, ResponseFacts, StepComparison, StepRun
from dbdyno.model.grouping import grouped
from dbdyno.model.headlines import kind_of
from dbdyno.model.sweep import CLIENTS, P99, parted, values
from dbdyno.stats import sweep as curves
from dbdyno.stats.sweep import Curve


def of_plan(compared: JudgedResult) -> SweepFacts:
    """All sweeps of a result, the values of their steps, and their peaks."""
    return derived(compared.rows, compared.steps)


FINDING = PlanFinding(facts=SweepFacts, of_plan=of_plan)


def derived(rows: Sequence[StepRow], steps: Iterable[StepComparison] = ()) -> SweepFacts:
    """The sweeps among these rows; `steps`: those whose values are told."""
    found = list(_sweeps(rows))
    return SweepFacts(
        swept=tuple(value for step in steps for value in _values(step)),
        peaks=tuple(peak for sweep, swept in found for peak in _peaks(sweep, swept)),
        sweeps=tuple(sweep for sweep, _ in found),
    )


def _values(step: StepComparison) -> Iterable[SweptValue]:
    """A row for each value in the name of a step, or of its workload."""
    sweep, own = parted(step.step)
    for key, text in {**parted(step.workload)[1], **own}.items():
        yield SweptValue(
            workload=step.workload,
            ordinal=step.ordinal,
            step=step.step,
            sweep=sweep,
            parameter=key,
            parameter_value=_number(text),
            parameter_text=text,
        )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class _SweptRow:
    """A row of a sweep, at its value."""

    value: float
    row: StepRow


def _sweeps(rows: Sequence[StepRow]) -> Iterable[tuple[Sweep, Sequence[_SweptRow]]]:
    """Those over a number of two values at least, in the order in which their steps stand."""
    swept = grouped(
        ((row.step.workload, title, key), _SweptRow(value, row))
        for row in rows
        if row.step.measured
        for key, (value, title) in values(row.step.step).items()
    )
    for (_, title, key), some in swept.items():
        headlines = {point.row.step.headline for point in some} - {None}
        if len({point.value for point in some}) > 1 and len(headlines) == 1:
            points = sorted(some, key=lambda point: point.value)
            yield _sweep(title, key, points), points


def _sweep(title: str, parameter: str, swept: Sequence[_SweptRow]) -> Sweep:
    first = swept[0].row.step
    headline = str(first.headline)
    return Sweep(
        workload=first.workload,
        title=title,
        parameter=parameter,
        headline=headline,
        points=tuple(_points(swept, headline)),
        paced=any(_paced(cell, headline) for point in swept for cell in point.row.step.cells),
    )


def _paced(cell: Cell, headline: str) -> bool:
    """Whether the work that the headline counts was due by a schedule."""
    kind = kind_of(headline).times_of
    times = (facts.by_kind.get(kind) for facts in cell.each(ResponseFacts))
    return any(time is not None and time.paced for time in times)


def _points(swept: Sequence[_SweptRow], headline: str) -> Iterable[SweepPoint]:
    for point in swept:
        for cell in point.row.step.cells:
            known = {
                name: ratio
                for name in (headline, P99)
                if (ratio := curves.mean(list(by_block(cell.runs, name).values())))
            }
            if known:
                yield SweepPoint(arm=cell.arm, value=point.value, figures=known)


# --- Peaks -----------------------------------------------------------------------------------


def _peaks(sweep: Sweep, swept: Sequence[_SweptRow]) -> Iterable[Peak]:
    """Of each arm that has a whole sweep over clients in any block, where no schedule paces it."""
    if sweep.parameter != CLIENTS or sweep.paced:
        return
    for place, cell in enumerate(swept[0].row.step.cells):
        runs = {point.value: point.row.step.cells[place].runs for point in swept}
        faced = {point.value: point.row.faced.get(cell.arm) for point in swept}
        bases = {value: facing.base_runs for value, facing in faced.items() if facing is not None}
        own = _curves(runs, sweep.headline)
        if own:
            peaks = [curves.peak(curve) for curve in own.values()]
            drops = {block: curves.drop(curve) for block, curve in own.items()}
            by = [
                (curve, base)
                for block, base in _curves(bases, sweep.headline).items()
                if (curve := own.get(block)) is not None
            ]
            fallen = [(curves.drop(curve), curves.drop(base)) for curve, base in by]
            yield Peak(
                workload=sweep.workload,
                sweep=sweep.title,
                base=swept[0].row.step.cells[0].arm,
                arm=cell.arm,
                clients=int(curves.typical(peaks)),
                fewest=int(min(peaks)),
                most=int(max(peaks)),
                blocks=len(own),
                peak=curves.mean([max(curve.values()) for curve in own.values()]),
                drop_factor=curves.mean_drop(list(drops.values())),
                ratio=curves.mean([max(curve.values()) / max(base.values()) for curve, base in by]),
                drop_ratio=curves.mean([drop / other for drop, other in fallen if other]),
                stood_still=sum(not drop for drop in drops.values()),
                limited=any(run.window.limited for some in runs.values() for run in some),
            )


def _curves(runs: Mapping[float, Sequence[StepRun]], headline: str) -> dict[int, Curve]:
    """By block its whole curve; not of a block that lacks a value, or did nothing at all."""
    known = {value: by_block(some, headline) for value, some in runs.items()}
    blocks = set.intersection(*(set(some) for some in known.values())) if known else set()
    whole = {block: {value: known[value][block] for value in known} for block in sorted(blocks)}
    return {block: curve for block, curve in whole.items() if any(curve.values())}
